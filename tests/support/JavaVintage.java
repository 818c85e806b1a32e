import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.MQPullConsumer;
import org.apache.rocketmq.client.consumer.MQPullConsumerScheduleService;
import org.apache.rocketmq.client.consumer.MessageSelector;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.consumer.PullStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragelyByCircle;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueConsistentHash;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.common.UtilAll;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/**
 * What Java clients of all versions can do: compiles against each of them since 4.3.
 *
 * <pre>
 *   JavaVintage NAME_SERVER CASE...
 * </pre>
 */
public final class JavaVintage extends JavaCases {
    /** Clients of 4.3 and 4.4 ask for a template topic that no broker has since; they can be told another one. */
    private static final String TEMPLATE = "TBW102";

    private JavaVintage(String nameServer) {
        super(nameServer);
        // All cases begin at once, and clients of those years look routes up one after the other.
        producer.setSendMsgTimeout(30_000);
        producer.setCreateTopicKey(TEMPLATE);
    }

    public static void main(String[] args) throws Exception {
        new JavaVintage(args[0]).runAll(args);
    }

    @Override
    protected Map<String, Case> all() {
        Map<String, Case> all = new HashMap<>();
        all.put("kinds", this::kinds);
        all.put("scheduled-pull", this::scheduledPull);
        all.put("blocking-pull", this::blockingPull);
        all.put("from-timestamp", this::fromTimestamp);
        all.put("suspended", this::suspended);
        all.put("by-tag", this::byTag);
        all.put("ordered-takeover", this::orderedTakeover);
        all.put("strategies", this::strategies);
        all.put("transaction", this::transaction);
        all.put("offsets", this::offsets);
        return all;
    }

    private DefaultMQPushConsumer started(String group, String instance, String topic, Set<String> into) throws Exception {
        DefaultMQPushConsumer consumer = consumer(group, instance, into);
        consumer.subscribe(topic, "*");
        consumer.start();
        return consumer;
    }

    /** Synchronous, asynchronous, one-way and batched sends all arrive. */
    private String kinds() throws Exception {
        producer.send(new Message("v-kinds", "t", "sync".getBytes(StandardCharsets.UTF_8)));
        CountDownLatch answered = new CountDownLatch(1);
        producer.send(new Message("v-kinds", "t", "async".getBytes(StandardCharsets.UTF_8)), new SendCallback() {
            @Override
            public void onSuccess(SendResult result) {
                answered.countDown();
            }

            @Override
            public void onException(Throwable error) {
                error.printStackTrace();
            }
        });
        check(answered.await(WAIT_MILLIS, TimeUnit.MILLISECONDS), "no answer to an asynchronous send");
        producer.sendOneway(new Message("v-kinds", "t", "oneway".getBytes(StandardCharsets.UTF_8)));
        List<Message> batch = new ArrayList<>();
        for (String body : Arrays.asList("batch1", "batch2")) {
            batch.add(new Message("v-kinds", "t", body.getBytes(StandardCharsets.UTF_8)));
        }
        producer.send(batch);
        Set<String> got = newSet();
        DefaultMQPushConsumer consumer = started("v-kinds-group", "kinds", "v-kinds", got);
        await("all kinds of sends", () -> got.size() >= 5);
        consumer.shutdown();
        return String.join(",", new TreeSet<>(got));
    }

    /** A service of the client pulls what it was assigned, and keeps offsets at the broker. */
    private String scheduledPull() throws Exception {
        for (int i = 0; i < 12; i++) {
            send("v-scheduled", "t", "" + i, null);
        }
        Set<String> got = newSet();
        MQPullConsumerScheduleService service = new MQPullConsumerScheduleService("v-scheduled-group");
        service.getDefaultMQPullConsumer().setNamesrvAddr(nameServer);
        service.getDefaultMQPullConsumer().setInstanceName("scheduled");
        service.registerPullTaskCallback("v-scheduled", (queue, context) -> {
            MQPullConsumer consumer = context.getPullConsumer();
            try {
                long offset = Math.max(consumer.fetchConsumeOffset(queue, false), 0);
                PullResult result = consumer.pull(queue, "*", offset, 32);
                if (result.getPullStatus() == PullStatus.FOUND) {
                    result.getMsgFoundList().forEach(message -> got.add(text(message)));
                }
                consumer.updateConsumeOffset(queue, result.getNextBeginOffset());
                context.setPullNextDelayTimeMillis(50);
            } catch (Exception stopped) {
                context.setPullNextDelayTimeMillis(50);
            }
        });
        service.start();
        await("what a pull service is assigned", () -> got.size() >= 12);
        service.shutdown();
        return "" + got.size();
    }

    /** A pull that waits is answered by the message it waits for. */
    private String blockingPull() throws Exception {
        send("v-blocking", "t", "first", null);
        DefaultMQPullConsumer consumer = new DefaultMQPullConsumer("v-blocking-group");
        consumer.setNamesrvAddr(nameServer);
        consumer.setInstanceName("blocking");
        consumer.start();
        MessageQueue queue = consumer.fetchSubscribeMessageQueues("v-blocking").iterator().next();
        long end = consumer.maxOffset(queue);
        Thread sender = new Thread(() -> {
            try {
                Thread.sleep(500);
                producer.send(new Message("v-blocking", "t", "awaited".getBytes(StandardCharsets.UTF_8)), queue);
            } catch (Exception error) {
                error.printStackTrace();
            }
        });
        sender.start();
        PullResult result = consumer.pullBlockIfNotFound(queue, "*", end, 32);
        sender.join();
        consumer.shutdown();
        check(result.getPullStatus() == PullStatus.FOUND, "status " + result);
        return text(result.getMsgFoundList().get(0));
    }

    /** A new group that begins at a time sees what came after it. */
    private String fromTimestamp() throws Exception {
        for (int i = 0; i < 8; i++) {
            send("v-time", "t", "" + i, null);
        }
        Set<String> got = newSet();
        DefaultMQPushConsumer consumer = consumer("v-time-group", "time", got);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_TIMESTAMP);
        consumer.setConsumeTimestamp(UtilAll.timeMillisToHumanString3(System.currentTimeMillis() - 3_600_000));
        consumer.subscribe("v-time", "*");
        consumer.start();
        await("what came after a time", () -> got.size() >= 8);
        consumer.shutdown();
        return "" + got.size();
    }

    /** A consumer that is suspended pulls nothing; resumed it goes on where it was. */
    private String suspended() throws Exception {
        Set<String> got = newSet();
        send("v-suspended", "t", "before", null);
        DefaultMQPushConsumer consumer = started("v-suspended-group", "suspended", "v-suspended", got);
        await("the first message", () -> got.contains("before"));
        consumer.suspend();
        for (int i = 0; i < 10; i++) {
            send("v-suspended", "t", "" + i, null);
        }
        consumer.resume();
        await("what came while it was suspended", () -> got.size() >= 11);
        consumer.shutdown();
        return "" + got.size();
    }

    /** Filters by tags: one of several, given as a selector. */
    private String byTag() throws Exception {
        for (String tag : Arrays.asList("a", "b", "c", "a")) {
            send("v-tags", tag, tag + System.nanoTime(), null);
        }
        Set<String> got = newSet();
        DefaultMQPushConsumer consumer = consumer("v-tags-group", "tags", got);
        consumer.subscribe("v-tags", MessageSelector.byTag("a || c"));
        consumer.start();
        await("two tags", () -> got.size() >= 3);
        consumer.shutdown();
        check(got.stream().noneMatch(body -> body.startsWith("b")), "unwanted " + got);
        return "" + got.size();
    }

    /** Two orderly consumers share queues by locks; when one leaves, the other goes on in order. */
    private String orderedTakeover() throws Exception {
        Map<Integer, List<Integer>> got = new ConcurrentHashMap<>();
        AtomicInteger sent = new AtomicInteger();
        DefaultMQPushConsumer one = orderly("one", got);
        DefaultMQPushConsumer two = orderly("two", got);
        sendOrdered(sent, 40);
        one.start();
        await("the first orderly consumer", () -> count(got) >= 40);
        two.start();
        sendOrdered(sent, 40);
        await("two orderly consumers", () -> count(got) >= 80);
        one.shutdown();
        sendOrdered(sent, 40);
        await("the one that stays", () -> count(got) >= 120);
        two.shutdown();
        for (List<Integer> numbers : got.values()) {
            // A queue that changes hands may repeat what was not yet committed, never leave out or swap.
            List<Integer> firsts = new ArrayList<>();
            numbers.stream().filter(number -> !firsts.contains(number)).forEach(firsts::add);
            List<Integer> sorted = new ArrayList<>(firsts);
            Collections.sort(sorted);
            check(firsts.equals(sorted), "out of order: " + numbers);
        }
        return "" + count(got);
    }

    private static int count(Map<Integer, List<Integer>> got) {
        Set<Integer> all = new TreeSet<>();
        for (List<Integer> numbers : got.values()) {
            synchronized (numbers) {
                all.addAll(numbers);
            }
        }
        return all.size();
    }

    private DefaultMQPushConsumer orderly(String instance, Map<Integer, List<Integer>> got) throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer("v-order-group");
        consumer.setNamesrvAddr(nameServer);
        consumer.setInstanceName("order-" + instance);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe("v-order", "*");
        consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
            for (MessageExt message : messages) {
                List<Integer> numbers = Collections.synchronizedList(new ArrayList<>());
                got.merge(message.getQueueId(), numbers, (known, fresh) -> known);
                got.get(message.getQueueId()).add(Integer.parseInt(text(message)));
            }
            return ConsumeOrderlyStatus.SUCCESS;
        });
        return consumer;
    }

    private void sendOrdered(AtomicInteger sent, int messages) throws Exception {
        for (int i = 0; i < messages; i++) {
            int number = sent.getAndIncrement();
            Message message = new Message("v-order", "t", ("" + number).getBytes(StandardCharsets.UTF_8));
            producer.send(message, (queues, all, key) -> queues.get((int) key % queues.size()), number % 4);
        }
    }

    /** Two groups with other strategies get everything between their members. */
    private String strategies() throws Exception {
        for (int i = 0; i < 20; i++) {
            send("v-strategies", "t", "" + i, null);
        }
        int shares = 0;
        for (int strategy = 0; strategy < 2; strategy++) {
            Set<String> got = newSet();
            List<DefaultMQPushConsumer> members = new ArrayList<>();
            for (int member = 0; member < 2; member++) {
                DefaultMQPushConsumer consumer = consumer("v-strategies-" + strategy, "s" + strategy + member, got);
                consumer.setAllocateMessageQueueStrategy(
                        strategy == 0 ? new AllocateMessageQueueAveragelyByCircle() : new AllocateMessageQueueConsistentHash());
                consumer.subscribe("v-strategies", "*");
                consumer.start();
                members.add(consumer);
            }
            await("two members", () -> got.size() >= 20);
            members.forEach(DefaultMQPushConsumer::shutdown);
            shares += got.size();
        }
        return "" + shares;
    }

    /** A transaction is seen when it is committed, and never when it is rolled back. */
    private String transaction() throws Exception {
        TransactionMQProducer transactional = new TransactionMQProducer("PG-VINTAGE");
        transactional.setNamesrvAddr(nameServer);
        transactional.setInstanceName("vintage");
        transactional.setCreateTopicKey(TEMPLATE);
        transactional.setSendMsgTimeout(30_000);
        transactional.setTransactionListener(new TransactionListener() {
            @Override
            public LocalTransactionState executeLocalTransaction(Message message, Object commits) {
                return (boolean) commits ? LocalTransactionState.COMMIT_MESSAGE : LocalTransactionState.ROLLBACK_MESSAGE;
            }

            @Override
            public LocalTransactionState checkLocalTransaction(MessageExt message) {
                return LocalTransactionState.UNKNOW;
            }
        });
        transactional.start();
        for (boolean commits : new boolean[] {false, true}) {
            byte[] body = ("" + commits).getBytes(StandardCharsets.UTF_8);
            transactional.sendMessageInTransaction(new Message("v-transaction", "t", body), commits);
        }
        Set<String> got = newSet();
        DefaultMQPushConsumer consumer = started("v-transaction-group", "transaction", "v-transaction", got);
        await("what was committed", () -> got.contains("true"));
        consumer.shutdown();
        transactional.shutdown();
        return String.join(",", got);
    }

    /** Offsets by time and by end, as a client asks for them; a message by its offset id. */
    private String offsets() throws Exception {
        SendResult sent = producer.send(new Message("v-offsets", "t", "x".getBytes(StandardCharsets.UTF_8)));
        MessageQueue queue = sent.getMessageQueue();
        check(producer.minOffset(queue) == 0, "min offset");
        check(producer.maxOffset(queue) == sent.getQueueOffset() + 1, "max offset");
        check(producer.searchOffset(queue, 0) == 0, "offset at the beginning of time");
        long stored = producer.viewMessage(sent.getOffsetMsgId()).getStoreTimestamp();
        check(producer.searchOffset(queue, stored) == sent.getQueueOffset(), "offset of its time");
        check(producer.earliestMsgStoreTime(queue) == stored, "time of the first message");
        check(producer.fetchPublishMessageQueues("v-offsets").size() == 4, "queues");
        return "1";
    }
}

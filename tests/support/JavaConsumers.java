import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.MessageSelector;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.client.consumer.PullStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.MessageQueueSelector;
import org.apache.rocketmq.client.producer.RequestCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.selector.SelectMessageQueueByHash;
import org.apache.rocketmq.client.utils.MessageUtil;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.remoting.RPCHook;

/**
 * What consumers of the official Java client do, many cases in one process:
 *
 * <pre>
 *   JavaConsumers NAME_SERVER CASE...
 * </pre>
 */
public final class JavaConsumers extends JavaCases {
    private JavaConsumers(String nameServer) {
        super(nameServer);
    }

    public static void main(String[] args) throws Exception {
        new JavaConsumers(args[0]).runAll(args);
    }

    @Override
    protected Map<String, Case> all() {
        Map<String, Case> all = new HashMap<>();
        all.put("sql", this::sql);
        all.put("ordered", this::ordered);
        all.put("broadcasting", this::broadcasting);
        all.put("takeover", this::takeover);
        all.put("pull", this::pull);
        all.put("assigned", this::assigned);
        all.put("request", this::request);
        all.put("trace", this::trace);
        all.put("retry", this::retry);
        return all;
    }

    private String sql() throws Exception {
        for (int price = 0; price < 20; price++) {
            send("j-sql", price % 2 == 0 ? "even" : "odd", "" + price, "" + price);
        }
        Set<String> got = newSet();
        DefaultMQPushConsumer consumer = consumer("j-sql-group", "sql", got);
        consumer.subscribe("j-sql", MessageSelector.bySql("price > 4 AND price <= 12 AND TAGS = 'even'"));
        consumer.start();
        await("filtered messages", () -> got.size() >= 4);
        send("j-sql", "even", "no", "99");
        send("j-sql", "even", "10 again", "10");
        await("a message that wakes a held pull", () -> got.contains("10 again"));
        consumer.shutdown();
        DefaultMQPushConsumer refused = consumer("j-sql-refused", "refused", newSet());
        refused.subscribe("j-sql", MessageSelector.bySql("price >"));
        try {
            refused.start();
            check(false, "a filter that cannot be read was taken");
        } catch (MQClientException expected) {
            refused.shutdown();
        }
        return String.join(",", new TreeSet<>(got));
    }

    private String ordered() throws Exception {
        MessageQueueSelector selector = new SelectMessageQueueByHash();
        Map<String, List<String>> got = new ConcurrentHashMap<>();
        AtomicInteger suspended = new AtomicInteger();
        for (int number = 0; number < 60; number++) {
            String key = "key" + number % 3;
            Message message = new Message("j-ordered", key, ("" + number).getBytes(StandardCharsets.UTF_8));
            producer.send(message, selector, key);
        }
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer("j-ordered-group");
        consumer.setNamesrvAddr(nameServer);
        consumer.setInstanceName("ordered");
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe("j-ordered", "*");
        consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
            if (text(messages.get(0)).equals("30") && suspended.incrementAndGet() == 1) {
                context.setSuspendCurrentQueueTimeMillis(10);
                return ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT;
            }
            for (MessageExt message : messages) {
                got.computeIfAbsent(message.getTags(), key -> Collections.synchronizedList(new ArrayList<>())).add(text(message));
            }
            return ConsumeOrderlyStatus.SUCCESS;
        });
        consumer.start();
        await("ordered messages", () -> got.values().stream().mapToInt(List::size).sum() >= 60);
        consumer.shutdown();
        check(suspended.get() == 2, "suspended " + suspended.get());
        for (int key = 0; key < 3; key++) {
            List<String> expected = new ArrayList<>();
            for (int number = key; number < 60; number += 3) {
                expected.add("" + number);
            }
            check(got.get("key" + key).equals(expected), "key" + key + " came as " + got.get("key" + key));
        }
        return "60";
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static void broadcast(DefaultMQPushConsumer consumer) throws Exception {
        // The enum is in another package in 5.x.
        Class type = consumer.getMessageModel().getClass();
        DefaultMQPushConsumer.class.getMethod("setMessageModel", type).invoke(consumer, Enum.valueOf(type, "BROADCASTING"));
    }

    private String broadcasting() throws Exception {
        List<Set<String>> got = new ArrayList<>();
        List<DefaultMQPushConsumer> consumers = new ArrayList<>();
        send("j-news", "t", "first", null);
        for (int i = 0; i < 2; i++) {
            got.add(newSet());
            DefaultMQPushConsumer consumer = consumer("j-news-group", "news" + i, got.get(i));
            broadcast(consumer);
            consumer.subscribe("j-news", "*");
            consumer.start();
            consumers.add(consumer);
        }
        for (int i = 0; i < 20; i++) {
            send("j-news", "t", "news" + i, null);
        }
        await("all news at both", () -> got.get(0).size() == 21 && got.get(1).size() == 21);
        consumers.forEach(DefaultMQPushConsumer::shutdown);
        return "21";
    }

    private String takeover() throws Exception {
        Set<String> first = newSet();
        Set<String> second = newSet();
        DefaultMQPushConsumer one = consumer("j-takeover-group", "one", first);
        DefaultMQPushConsumer two = consumer("j-takeover-group", "two", second);
        int sent = 0;
        for (; sent < 100; sent++) {
            send("j-takeover", "t", "" + sent, null);
        }
        one.subscribe("j-takeover", "*");
        two.subscribe("j-takeover", "*");
        one.start();
        await("the first consumer", () -> first.size() == 100);
        two.start();
        long end = System.currentTimeMillis() + WAIT_MILLIS;
        while (second.isEmpty()) {
            check(System.currentTimeMillis() < end, "the second consumer got no queue");
            send("j-takeover", "t", "" + sent++, null);
            Thread.sleep(5);
        }
        one.shutdown();
        int before = sent;
        for (; sent < before + 40; sent++) {
            send("j-takeover", "t", "" + sent, null);
        }
        int all = sent;
        await("everything after the takeover", () -> {
            Set<String> both = new TreeSet<>(first);
            both.addAll(second);
            return both.size() == all;
        });
        two.shutdown();
        return "" + all;
    }

    private String pull() throws Exception {
        for (int i = 0; i < 12; i++) {
            send("j-pull", i % 2 == 0 ? "even" : "odd", "" + i, "" + i);
        }
        DefaultMQPullConsumer consumer = new DefaultMQPullConsumer("j-pull-group");
        consumer.setNamesrvAddr(nameServer);
        consumer.setInstanceName("pull");
        consumer.start();
        Set<String> all = new TreeSet<>();
        Set<String> odd = new TreeSet<>();
        for (MessageQueue queue : consumer.fetchSubscribeMessageQueues("j-pull")) {
            long end = consumer.maxOffset(queue);
            if (end == 0) {
                continue;
            }
            PullResult result = consumer.pull(queue, "*", 0, 32);
            check(result.getPullStatus() == PullStatus.FOUND, "status " + result);
            check(result.getNextBeginOffset() == end && result.getMaxOffset() == end, "offsets " + result);
            result.getMsgFoundList().forEach(message -> all.add(text(message)));
            PullResult tagged = consumer.pull(queue, "odd", 0, 32);
            if (tagged.getPullStatus() == PullStatus.FOUND) {
                tagged.getMsgFoundList().forEach(message -> odd.add(text(message)));
            }
            check(consumer.pull(queue, "*", end, 32).getPullStatus() == PullStatus.NO_NEW_MSG, "no new message");
            check(consumer.pull(queue, "*", end + 9, 32).getPullStatus() == PullStatus.OFFSET_ILLEGAL, "illegal offset");
            consumer.updateConsumeOffset(queue, end);
            check(consumer.fetchConsumeOffset(queue, false) == end, "own offset");
            consumer.getOffsetStore().updateConsumeOffsetToBroker(queue, end, false);
            check(consumer.fetchConsumeOffset(queue, true) == end, "offset at the broker");
        }
        consumer.shutdown();
        check(all.size() == 12 && odd.size() == 6, all + " " + odd);
        return "12";
    }

    private String assigned() throws Exception {
        for (int i = 0; i < 30; i++) {
            send("j-assigned", "t", "" + i, null);
        }
        DefaultLitePullConsumer consumer = new DefaultLitePullConsumer("j-assigned-group");
        consumer.setNamesrvAddr(nameServer);
        consumer.setInstanceName("assigned");
        consumer.setAutoCommit(false);
        consumer.start();
        List<MessageQueue> queues = new ArrayList<>(consumer.fetchMessageQueues("j-assigned"));
        consumer.assign(queues);
        for (MessageQueue queue : queues) {
            consumer.seekToBegin(queue);
        }
        check(poll(consumer, 30).size() == 30, "all messages");
        consumer.commitSync();
        long committed = 0;
        for (MessageQueue queue : queues) {
            long end = end(queue);
            // Commits go one way, so nobody says that they have come.
            await("the committed offset of " + queue, () -> committed(consumer, queue) == end);
            committed += end;
            consumer.seek(queue, Math.max(end - 1, 0));
        }
        Set<String> last = poll(consumer, (int) queues.stream().filter(queue -> end(queue) > 0).count());
        consumer.shutdown();
        check(committed == 30, "committed " + committed);
        return "" + last.size();
    }

    private static long committed(DefaultLitePullConsumer consumer, MessageQueue queue) {
        try {
            return consumer.committed(queue);
        } catch (MQClientException error) {
            throw new IllegalStateException(error);
        }
    }

    private long end(MessageQueue queue) {
        try {
            return producer.maxOffset(queue);
        } catch (MQClientException error) {
            throw new IllegalStateException(error);
        }
    }

    private static Set<String> poll(DefaultLitePullConsumer consumer, int count) {
        Set<String> found = new TreeSet<>();
        long end = System.currentTimeMillis() + WAIT_MILLIS;
        while (found.size() < count) {
            check(System.currentTimeMillis() < end, "polled " + found.size() + " of " + count);
            consumer.poll(200).forEach(message -> found.add(text(message)));
        }
        return found;
    }

    private String request() throws Exception {
        DefaultMQProducer replier = new DefaultMQProducer("PG-REPLIER");
        replier.setNamesrvAddr(nameServer);
        replier.setInstanceName("replier");
        replier.start();
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer("j-request-group");
        consumer.setNamesrvAddr(nameServer);
        consumer.setInstanceName("responder");
        consumer.subscribe("j-request", "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            for (MessageExt message : messages) {
                try {
                    byte[] answer = ("re: " + text(message)).getBytes(StandardCharsets.UTF_8);
                    replier.send(MessageUtil.createReplyMessage(message, answer), 3_000);
                } catch (Exception error) {
                    return ConsumeConcurrentlyStatus.RECONSUME_LATER;
                }
            }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        send("j-request", "t", "the topic is there before the consumer", null);
        consumer.start();
        Message question = new Message("j-request", "t", "question".getBytes(StandardCharsets.UTF_8));
        // These versions call back with nothing once the request is sent, and again with the reply; without a callback they
        // do not wait for the reply, also with RocketMQ's own broker.
        CompletableFuture<Message> reply = new CompletableFuture<>();
        producer.request(question, new RequestCallback() {
            @Override
            public void onSuccess(Message message) {
                if (message != null) {
                    reply.complete(message);
                }
            }

            @Override
            public void onException(Throwable error) {
                reply.completeExceptionally(error);
            }
        }, 30_000);
        byte[] body = reply.get(30, TimeUnit.SECONDS).getBody();
        consumer.shutdown();
        replier.shutdown();
        return new String(body, StandardCharsets.UTF_8);
    }

    private String trace() throws Exception {
        DefaultMQProducer traced = new DefaultMQProducer("PG-TRACED", (RPCHook) null, true, null);
        traced.setNamesrvAddr(nameServer);
        traced.setInstanceName("traced");
        traced.start();
        SendResult sent = traced.send(new Message("j-traced", "t", "key-traced", "x".getBytes(StandardCharsets.UTF_8)));
        Set<String> got = newSet();
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(
                "j-traced-group", (RPCHook) null, new AllocateMessageQueueAveragely(), true, null);
        consumer.setNamesrvAddr(nameServer);
        consumer.setInstanceName("traced");
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe("j-traced", "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            messages.forEach(message -> got.add(text(message)));
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        await("the traced message", () -> !got.isEmpty());
        await("its whole story", () -> kinds(sent.getMsgId()).containsAll(Arrays.asList("Pub", "SubBefore", "SubAfter")));
        consumer.shutdown();
        traced.shutdown();
        return String.join(",", kinds(sent.getMsgId()));
    }

    /** Kinds of the trace records of one message, found by its id as an administrator finds them. */
    private Set<String> kinds(String messageId) {
        Set<String> kinds = new TreeSet<>();
        Set<String> begun = new TreeSet<>();
        Set<String> ended = new TreeSet<>();
        try {
            long end = System.currentTimeMillis() + WAIT_MILLIS;
            for (MessageExt message : producer.queryMessage("RMQ_SYS_TRACE_TOPIC", messageId, 32, 0, end).getMessageList()) {
                for (String record : text(message).split("\u0002")) {
                    String[] fields = record.split("\u0001", -1);
                    kinds.add(fields[0]);
                    checkRecord(fields, messageId, begun, ended);
                }
            }
        } catch (MQClientException notYet) {
            return kinds;
        } catch (InterruptedException error) {
            throw new IllegalStateException(error);
        }
        check(begun.containsAll(ended), "consumption that ended as " + ended + " began as " + begun);
        return kinds;
    }

    /** Fields stand where the table of trace records has them. */
    private static void checkRecord(String[] fields, String messageId, Set<String> begun, Set<String> ended) {
        String record = Arrays.toString(fields);
        if (fields[0].equals("Pub")) {
            check(fields.length >= 14 && fields[3].equals("PG-TRACED") && fields[4].equals("j-traced"), record);
            check(fields[5].equals(messageId) && fields[6].equals("t") && fields[7].equals("key-traced"), record);
            check(fields[9].equals("1") && fields[11].equals("0") && fields[13].equals("true"), record);
        } else if (fields[0].equals("SubBefore")) {
            check(fields.length >= 8 && fields[3].equals("j-traced-group") && fields[5].equals(messageId), record);
            check(fields[6].equals("0") && fields[7].equals("key-traced"), record);
            begun.add(fields[4]);
        } else {
            check(fields[0].equals("SubAfter") && fields.length >= 7 && fields[2].equals(messageId), record);
            check(fields[4].equals("true") && fields[5].equals("key-traced") && fields[6].equals("0"), record);
            ended.add(fields[1]);
        }
    }

    private String retry() throws Exception {
        List<Integer> times = Collections.synchronizedList(new ArrayList<>());
        send("j-retry", "t", "stubborn", null);
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer("j-retry-group");
        consumer.setNamesrvAddr(nameServer);
        consumer.setInstanceName("retry");
        consumer.setMaxReconsumeTimes(2);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe("j-retry", "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            messages.forEach(message -> times.add(message.getReconsumeTimes()));
            context.setDelayLevelWhenNextConsume(1);
            return ConsumeConcurrentlyStatus.RECONSUME_LATER;
        });
        consumer.start();
        await("two retries", () -> times.size() >= 3);
        consumer.shutdown();
        return times.subList(0, 3).toString().replace(" ", "");
    }
}

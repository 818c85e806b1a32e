import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.client.QueryResult;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.tools.admin.DefaultMQAdminExt;

/**
 * What clients rarely do: sizes at the limits, odd names, many members, topics that vanish.
 *
 * <pre>
 *   JavaEdges NAME_SERVER CASE...
 *   JavaEdges NAME_SERVER follow TOPIC    sends and consumes until standard input ends: "sent N" when acknowledged, "got N"
 * </pre>
 */
public final class JavaEdges extends JavaCases {
    private static final int BODY_MAX = 4 * 1024 * 1024;
    private static final int MESSAGE_ILLEGAL = 13;
    private static final int MEMBERS = 20;

    private JavaEdges(String nameServer) {
        super(nameServer);
    }

    public static void main(String[] args) throws Exception {
        JavaEdges edges = new JavaEdges(args[0]);
        if (args[1].equals("follow")) {
            edges.follow(args[2]);
            System.exit(0);
        }
        edges.runAll(args);
    }

    @Override
    protected Map<String, Case> all() {
        Map<String, Case> all = new HashMap<>();
        all.put("largest-body", this::largestBody);
        all.put("largest-properties", this::largestProperties);
        all.put("unicode", this::unicode);
        all.put("odd-names", this::oddNames);
        all.put("dead-name-server", this::deadNameServer);
        all.put("members", this::members);
        all.put("deleted-topic", this::deletedTopic);
        return all;
    }

    private DefaultMQProducer producer(String instance, String addresses) throws Exception {
        DefaultMQProducer made = new DefaultMQProducer("PG-" + instance);
        made.setNamesrvAddr(addresses);
        made.setInstanceName(instance);
        made.setSendMsgTimeout(20_000);
        made.start();
        return made;
    }

    private String largestBody() throws Exception {
        DefaultMQProducer large = producer("large", nameServer);
        large.setMaxMessageSize(2 * BODY_MAX);
        large.setCompressMsgBodyOverHowmuch(Integer.MAX_VALUE);
        byte[] body = new byte[BODY_MAX];
        new Random(7).nextBytes(body);
        check(large.send(new Message("j-large", body)).getSendStatus() == SendStatus.SEND_OK, "4 MiB");
        int code = 0;
        try {
            large.send(new Message("j-large", Arrays.copyOf(body, BODY_MAX + 1)));
        } catch (MQBrokerException error) {
            code = error.getResponseCode();
        }
        check(code == MESSAGE_ILLEGAL, "one byte more was answered with " + code);
        AtomicBoolean same = new AtomicBoolean();
        DefaultMQPushConsumer consumer = consumer("j-large-group", "large", newSet());
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            same.set(Arrays.equals(messages.get(0).getBody(), body));
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.subscribe("j-large", "*");
        consumer.start();
        await("the large message", same::get);
        consumer.shutdown();
        large.shutdown();
        return "13";
    }

    private static Message withProperty(String topic, int length) {
        Message message = new Message(topic, "p".getBytes(StandardCharsets.UTF_8));
        message.putUserProperty("long", String.join("", Collections.nCopies(length, "x")));
        return message;
    }

    private String largestProperties() throws Exception {
        SendResult sent = producer.send(withProperty("j-properties", 32_000));
        MessageExt stored = producer.viewMessage("j-properties", sent.getOffsetMsgId());
        check(stored.getUserProperty("long").length() == 32_000, "properties came back shorter");
        int code = 0;
        try {
            producer.send(withProperty("j-properties", 32_768));
        } catch (MQBrokerException error) {
            code = error.getResponseCode();
        } catch (MQClientException error) {
            code = error.getResponseCode();
        }
        check(code == MESSAGE_ILLEGAL, "properties of 32 KiB were answered with " + code);
        send("j-properties", "t", "the next one", null);
        return "13";
    }

    private String unicode() throws Exception {
        String key = "订单-№42-ключ-🚀";
        Message message = new Message("j-unicode", "标签", key, "正文 🚀".getBytes(StandardCharsets.UTF_8));
        message.putUserProperty("城市", "São Paulo 🚀");
        producer.send(message);
        Set<String> got = newSet();
        DefaultMQPushConsumer consumer = consumer("j-unicode-group", "unicode", got);
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            messages.forEach(one -> got.add(one.getKeys() + " " + one.getTags() + " " + one.getUserProperty("城市")));
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.subscribe("j-unicode", "标签");
        consumer.start();
        await("a message with a Chinese tag", () -> got.contains(key + " 标签 São Paulo 🚀"));
        consumer.shutdown();
        await("a query by a Chinese key", () -> count("j-unicode", key) == 1);
        return "1";
    }

    private int count(String topic, String key) {
        try {
            QueryResult result = producer.queryMessage(topic, key, 32, 0, System.currentTimeMillis() + WAIT_MILLIS);
            return result.getMessageList().size();
        } catch (MQClientException notYet) {
            return 0;
        } catch (InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }

    private String oddNames() throws Exception {
        String topic = "j%odd|topic";
        Set<String> got = newSet();
        AtomicInteger tries = new AtomicInteger();
        send(topic, "t", "odd", null);
        DefaultMQPushConsumer consumer = consumer("CG%odd|group", "odd", got);
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            if (tries.incrementAndGet() == 1) {
                context.setDelayLevelWhenNextConsume(1);
                return ConsumeConcurrentlyStatus.RECONSUME_LATER;
            }
            messages.forEach(message -> got.add(message.getTopic() + " " + message.getReconsumeTimes()));
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.subscribe(topic, "*");
        consumer.start();
        await("the retry of an oddly named group", () -> got.contains(topic + " 1"));
        consumer.shutdown();
        return String.join(",", got);
    }

    /** 5.3 clients do not go on to the next name server by themselves: the call fails, and another one asks the next. */
    private String deadNameServer() throws Exception {
        String addresses = "127.0.0.1:1;" + nameServer;
        DefaultMQProducer other = producer("dead-first", addresses);
        Set<String> got = newSet();
        long end = System.currentTimeMillis() + WAIT_MILLIS;
        for (int sent = 0; sent < 10; ) {
            try {
                other.send(new Message("j-dead-first", ("" + sent).getBytes(StandardCharsets.UTF_8)));
                sent++;
            } catch (IllegalStateException | MQClientException unreachable) {
                check(System.currentTimeMillis() < end, "no message was sent: " + unreachable);
            }
        }
        DefaultMQPushConsumer consumer = null;
        while (consumer == null) {
            try {
                consumer = consumer("j-dead-first-group", "dead-first", got);
                consumer.setNamesrvAddr(addresses);
                consumer.subscribe("j-dead-first", "*");
                consumer.start();
            } catch (IllegalStateException unreachable) {
                check(System.currentTimeMillis() < end, "no consumer started: " + unreachable);
                consumer.shutdown();
                consumer = null;
            }
        }
        await("messages behind a dead name server", () -> got.size() == 10);
        consumer.shutdown();
        other.shutdown();
        return "10";
    }

    /** The topic has as many queues as the group gets members. */
    private String members() throws Exception {
        List<DefaultMQPushConsumer> members = new ArrayList<>();
        List<Set<String>> got = new ArrayList<>();
        for (int i = 0; i < MEMBERS; i++) {
            got.add(newSet());
            DefaultMQPushConsumer member = consumer("j-members-group", "member" + i, got.get(i));
            member.setConsumeThreadMin(1);
            member.setConsumeThreadMax(1);
            member.subscribe("j-members", "*");
            member.start();
            members.add(member);
        }
        int sent = 0;
        long end = System.currentTimeMillis() + WAIT_MILLIS;
        while (got.stream().anyMatch(Set::isEmpty)) {
            check(System.currentTimeMillis() < end, "some members got nothing");
            send("j-members", "t", "" + sent++, null);
            Thread.sleep(5);
        }
        int all = sent;
        await("all messages", () -> union(got).size() == all);
        for (DefaultMQPushConsumer member : members.subList(1, MEMBERS)) {
            member.shutdown();
        }
        send("j-members", "t", "last", null);
        for (int i = 0; i < MEMBERS; i++) {
            send("j-members", "t", "left" + i, null);
        }
        await("the one that is left", () -> union(got).size() == all + MEMBERS + 1);
        members.get(0).shutdown();
        return "" + got.stream().filter(one -> !one.isEmpty()).count();
    }

    private static Set<String> union(List<Set<String>> sets) {
        Set<String> all = new TreeSet<>();
        sets.forEach(all::addAll);
        return all;
    }

    private String deletedTopic() throws Exception {
        DefaultMQAdminExt admin = new DefaultMQAdminExt();
        admin.setNamesrvAddr(nameServer);
        admin.setInstanceName("deleter");
        admin.start();
        Set<String> got = newSet();
        DefaultMQPushConsumer consumer = consumer("j-deleted-group", "deleted", got);
        consumer.setHeartbeatBrokerInterval(1_000);
        consumer.setPollNameServerInterval(1_000);
        consumer.subscribe("j-deleted", "*");
        int sent = 0;
        for (; sent < 50; sent++) {
            send("j-deleted", "t", "" + sent, null);
        }
        consumer.start();
        await("messages before", () -> got.size() == 50);
        Set<String> brokers = Collections.singleton(
                admin.examineTopicRouteInfo("j-deleted").getBrokerDatas().get(0).selectBrokerAddr());
        admin.deleteTopicInBroker(brokers, "j-deleted");
        deleteRoute(admin, "j-deleted");
        int refused = 0;
        int first = sent;
        long end = System.currentTimeMillis() + WAIT_MILLIS;
        while (got.size() == 50) {
            check(System.currentTimeMillis() < end, "nothing came after the topic was deleted; refused " + refused);
            try {
                send("j-deleted", "t", "" + sent++, null);
            } catch (MQBrokerException | MQClientException gone) {
                refused++;
            }
            Thread.sleep(50);
        }
        check(got.stream().anyMatch(text -> Integer.parseInt(text) >= first), "only old messages came");
        consumer.shutdown();
        admin.shutdown();
        return "again";
    }

    /** Versions differ in whether a cluster is named. */
    private void deleteRoute(DefaultMQAdminExt admin, String topic) throws Exception {
        Set<String> nameServers = Collections.singleton(nameServer);
        for (Method method : DefaultMQAdminExt.class.getMethods()) {
            if (method.getName().equals("deleteTopicInNameServer")) {
                boolean cluster = method.getParameterCount() == 3;
                method.invoke(admin, cluster ? new Object[] {nameServers, "DefaultCluster", topic} : new Object[] {nameServers, topic});
                return;
            }
        }
    }

    private void follow(String topic) throws Exception {
        producer.setPollNameServerInterval(500);
        producer.setHeartbeatBrokerInterval(500);
        producer.setRetryTimesWhenSendFailed(0);
        producer.setSendMsgTimeout(1_000);
        producer.start();
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer("CG-FOLLOW");
        consumer.setNamesrvAddr(nameServer);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            messages.forEach(message -> say("got " + text(message)));
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        AtomicBoolean ended = new AtomicBoolean();
        Thread sender = new Thread(() -> sendUntil(topic, ended), "sender");
        sender.start();
        consumer.start();
        while (System.in.read() != '\n') { }
        ended.set(true);
        sender.join();
        while (System.in.read() >= 0) { }
        consumer.shutdown();
        producer.shutdown();
    }

    private void sendUntil(String topic, AtomicBoolean ended) {
        for (int number = 0; !ended.get(); number++) {
            try {
                send(topic, "t", "" + number, null);
                say("sent " + number);
                Thread.sleep(5);
            } catch (Exception notThere) {
                say("failed " + number);
            }
        }
        say("over");
    }

    private static void say(String line) {
        synchronized (System.out) {
            System.out.println(line);
        }
    }
}

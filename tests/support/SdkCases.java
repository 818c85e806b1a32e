import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.apis.ClientConfiguration;
import org.apache.rocketmq.client.apis.ClientServiceProvider;
import org.apache.rocketmq.client.apis.consumer.ConsumeResult;
import org.apache.rocketmq.client.apis.consumer.FilterExpression;
import org.apache.rocketmq.client.apis.consumer.PushConsumer;
import org.apache.rocketmq.client.apis.consumer.SimpleConsumer;
import org.apache.rocketmq.client.apis.message.MessageBuilder;
import org.apache.rocketmq.client.apis.message.MessageView;
import org.apache.rocketmq.client.apis.producer.Producer;
import org.apache.rocketmq.client.apis.producer.SendReceipt;
import org.apache.rocketmq.client.apis.producer.Transaction;
import org.apache.rocketmq.client.apis.producer.TransactionResolution;

/** The Java SDK of RocketMQ 5 in its default settings (TLS): prints "case NAME RESULT" for each thing that it tries. */
public final class SdkCases {
    private static final ClientServiceProvider PROVIDER = ClientServiceProvider.loadService();
    private static ClientConfiguration configuration;

    public static void main(String[] arguments) throws Exception {
        configuration = ClientConfiguration.newBuilder().setEndpoints(arguments[0]).build();
        try (Producer producer = PROVIDER.newProducerBuilder().setClientConfiguration(configuration)
                .setTopics("sdk-java", "sdk-java-fifo", "sdk-java-delay", "sdk-java-push", "sdk-java-dead", "sdk-java-tx")
                .setTransactionChecker(view -> TransactionResolution.COMMIT).build()) {
            simple(producer);
            push(producer);
            dead(producer);
            fifo(producer);
            delay(producer);
            transactions(producer);
        }
        System.exit(0);
    }

    private static void result(String name, String found) {
        System.out.println("case " + name + " " + found);
    }

    private static MessageBuilder message(String topic, String body) {
        return PROVIDER.newMessageBuilder().setTopic(topic).setBody(body.getBytes(StandardCharsets.UTF_8));
    }

    private static String body(MessageView view) {
        ByteBuffer buffer = view.getBody();
        return StandardCharsets.UTF_8.decode(buffer).toString();
    }

    private static List<MessageView> receive(SimpleConsumer consumer, int count) throws Exception {
        List<MessageView> found = new ArrayList<>();
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(100);
        while (found.size() < count && System.nanoTime() < end) {
            for (MessageView view : consumer.receive(16, Duration.ofSeconds(30))) {
                found.add(view);
                consumer.ack(view);
            }
        }
        return found;
    }

    private static SimpleConsumer consumer(String group, String topic) throws Exception {
        return PROVIDER.newSimpleConsumerBuilder().setClientConfiguration(configuration).setConsumerGroup(group)
                .setAwaitDuration(Duration.ofSeconds(5))
                .setSubscriptionExpressions(Collections.singletonMap(topic, FilterExpression.SUB_ALL)).build();
    }

    private static String sorted(List<MessageView> views) {
        List<String> bodies = new ArrayList<>();
        views.forEach(view -> bodies.add(body(view)));
        Collections.sort(bodies);
        return String.join(",", bodies);
    }

    private static void simple(Producer producer) throws Exception {
        try (SimpleConsumer consumer = consumer("sdk-java-simple", "sdk-java")) {
            SendReceipt receipt = producer.send(message("sdk-java", "one").setTag("T").setKeys("k1", "k2")
                    .addProperty("color", "red").build());
            producer.send(message("sdk-java", "two").build());
            List<MessageView> views = receive(consumer, 2);
            result("simple", sorted(views));
            MessageView one = views.stream().filter(view -> body(view).equals("one")).findFirst().get();
            boolean same = one.getMessageId().equals(receipt.getMessageId());
            result("fields", one.getTag().get() + " " + one.getKeys().size() + " " + one.getProperties() + " " + same);
        }
    }

    private static void push(Producer producer) throws Exception {
        List<Integer> attempts = new CopyOnWriteArrayList<>();
        CountDownLatch twice = new CountDownLatch(2);
        try (PushConsumer consumer = PROVIDER.newPushConsumerBuilder().setClientConfiguration(configuration)
                .setConsumerGroup("sdk-java-pushers")
                .setSubscriptionExpressions(Collections.singletonMap("sdk-java-push", FilterExpression.SUB_ALL))
                .setMessageListener(view -> {
                    attempts.add(view.getDeliveryAttempt());
                    twice.countDown();
                    return view.getDeliveryAttempt() == 1 ? ConsumeResult.FAILURE : ConsumeResult.SUCCESS;
                }).build()) {
            producer.send(message("sdk-java-push", "push").build());
            twice.await(100, TimeUnit.SECONDS);
            result("push", attempts.toString().replace(" ", ""));
        }
    }

    private static void dead(Producer producer) throws Exception {
        List<Integer> attempts = new CopyOnWriteArrayList<>();
        try (PushConsumer failing = PROVIDER.newPushConsumerBuilder().setClientConfiguration(configuration)
                .setConsumerGroup("sdk-java-buried")
                .setSubscriptionExpressions(Collections.singletonMap("sdk-java-dead", FilterExpression.SUB_ALL))
                .setMessageListener(view -> {
                    attempts.add(view.getDeliveryAttempt());
                    return ConsumeResult.FAILURE;
                }).build(); SimpleConsumer consumer = consumer("sdk-java-undertaker", "%DLQ%sdk-java-buried")) {
            producer.send(message("sdk-java-dead", "dies").build());
            result("dead", sorted(receive(consumer, 1)) + " " + attempts.toString().replace(" ", ""));
        }
    }

    private static void fifo(Producer producer) throws Exception {
        try (SimpleConsumer consumer = consumer("sdk-java-ordered", "sdk-java-fifo")) {
            for (int number = 0; number < 8; number++) {
                producer.send(message("sdk-java-fifo", Integer.toString(number)).setMessageGroup("g").build());
            }
            List<String> bodies = new ArrayList<>();
            receive(consumer, 8).forEach(view -> bodies.add(body(view)));
            result("fifo", String.join(",", bodies));
        }
    }

    private static void delay(Producer producer) throws Exception {
        try (SimpleConsumer consumer = consumer("sdk-java-delayed", "sdk-java-delay")) {
            long due = System.currentTimeMillis() + 3_000;
            producer.send(message("sdk-java-delay", "late").setDeliveryTimestamp(due).build());
            List<MessageView> views = receive(consumer, 1);
            result("delay", sorted(views) + " " + (System.currentTimeMillis() >= due - 100));
        }
    }

    private static void transactions(Producer producer) throws Exception {
        try (SimpleConsumer consumer = consumer("sdk-java-tx-group", "sdk-java-tx")) {
            for (String body : new String[] {"commit", "roll-back", "orphan"}) {
                Transaction transaction = producer.beginTransaction();
                producer.send(message("sdk-java-tx", body).build(), transaction);
                if (body.equals("commit")) {
                    transaction.commit();
                } else if (body.equals("roll-back")) {
                    transaction.rollback();
                }
            }
            result("transactions", sorted(receive(consumer, 2)));
        }
    }
}

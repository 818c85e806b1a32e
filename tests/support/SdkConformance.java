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
import org.apache.rocketmq.client.apis.consumer.MessageListener;
import org.apache.rocketmq.client.apis.consumer.PushConsumer;
import org.apache.rocketmq.client.apis.consumer.SimpleConsumer;
import org.apache.rocketmq.client.apis.message.Message;
import org.apache.rocketmq.client.apis.message.MessageBuilder;
import org.apache.rocketmq.client.apis.message.MessageView;
import org.apache.rocketmq.client.apis.producer.Producer;

/** The Java SDK of RocketMQ 5 in one case of a list of conformance: {@code ENDPOINT CASE}; prints "case NAME RESULT". */
public final class SdkConformance {
    private static final ClientServiceProvider PROVIDER = ClientServiceProvider.loadService();
    private static final int LARGEST = 4 * 1024 * 1024;
    private static ClientConfiguration configuration;

    public static void main(String[] arguments) throws Exception {
        configuration = ClientConfiguration.newBuilder().setEndpoints(arguments[0]).build();
        switch (arguments[1]) {
            case "compressed": compressed(); break;
            case "again": again(); break;
            case "nack": nack(); break;
            case "order": order(); break;
            case "commands": commands(); break;
            case "large": large(); break;
            default: throw new IllegalArgumentException(arguments[1]);
        }
        System.exit(0);
    }

    private static void result(String name, Object found) {
        System.out.println("case " + name + " " + found);
    }

    private static Producer producer(String topic) throws Exception {
        return PROVIDER.newProducerBuilder().setClientConfiguration(configuration).setTopics(topic).build();
    }

    private static MessageBuilder message(String topic, String body) {
        return PROVIDER.newMessageBuilder().setTopic(topic).setBody(body.getBytes(StandardCharsets.UTF_8));
    }

    private static String body(MessageView view) {
        return StandardCharsets.UTF_8.decode(view.getBody()).toString();
    }

    private static SimpleConsumer consumer(String group, String topic) throws Exception {
        return PROVIDER.newSimpleConsumerBuilder().setClientConfiguration(configuration).setConsumerGroup(group)
                .setAwaitDuration(Duration.ofSeconds(5))
                .setSubscriptionExpressions(Collections.singletonMap(topic, FilterExpression.SUB_ALL)).build();
    }

    private static PushConsumer listener(String group, String topic, MessageListener listener) throws Exception {
        return PROVIDER.newPushConsumerBuilder().setClientConfiguration(configuration).setConsumerGroup(group)
                .setSubscriptionExpressions(Collections.singletonMap(topic, FilterExpression.SUB_ALL))
                .setMessageListener(listener).build();
    }

    private static List<MessageView> receive(SimpleConsumer consumer, int count) throws Exception {
        List<MessageView> found = new ArrayList<>();
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (found.size() < count && System.nanoTime() < end) {
            try {
                for (MessageView view : consumer.receive(16, Duration.ofSeconds(30))) {
                    found.add(view);
                    consumer.ack(view);
                }
            } catch (Exception error) {
                Thread.sleep(200); // the broker is away
            }
        }
        return found;
    }

    private static void send(Producer producer, Message message) throws Exception {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (true) {
            try {
                producer.send(message);
                return;
            } catch (Exception error) {
                if (System.nanoTime() > end) {
                    throw error;
                }
                Thread.sleep(200);
            }
        }
    }

    private static void compressed() throws Exception {
        try (SimpleConsumer consumer = consumer("packed-java", "packed")) {
            List<String> bodies = new ArrayList<>();
            receive(consumer, 3).forEach(view -> bodies.add(body(view)));
            long same = bodies.stream().filter(body -> body.equals("packed ".repeat(500))).count();
            result("compressed", same);
        }
    }

    private static void again() throws Exception {
        try (Producer producer = producer("again-java"); SimpleConsumer consumer = consumer("again-java", "again-java")) {
            for (String body : new String[] {"before", "after"}) {
                send(producer, message("again-java", body).build());
                receive(consumer, 1).forEach(view -> result(body, body(view)));
                System.out.println("waiting");
                System.in.read();
            }
        }
    }

    private static void nack() throws Exception {
        List<Integer> attempts = new CopyOnWriteArrayList<>();
        List<Long> times = new CopyOnWriteArrayList<>();
        CountDownLatch thrice = new CountDownLatch(3);
        try (Producer producer = producer("nack"); PushConsumer ignored = listener("nack-java", "nack", view -> {
            attempts.add(view.getDeliveryAttempt());
            times.add(System.nanoTime());
            thrice.countDown();
            return view.getDeliveryAttempt() < 3 ? ConsumeResult.FAILURE : ConsumeResult.SUCCESS;
        })) {
            producer.send(message("nack", "fails").build());
            thrice.await(60, TimeUnit.SECONDS);
            boolean first = times.get(1) - times.get(0) >= TimeUnit.MILLISECONDS.toNanos(950);
            boolean second = times.get(2) - times.get(1) >= TimeUnit.MILLISECONDS.toNanos(4_950);
            result("nack", attempts.toString().replace(" ", "") + " " + first + " " + second);
        }
    }

    private static void order() throws Exception {
        List<String> found = new CopyOnWriteArrayList<>();
        CountDownLatch five = new CountDownLatch(5);
        try (Producer producer = producer("order")) {
            for (String body : new String[] {"0", "bad", "1", "2"}) {
                producer.send(message("order", body).setMessageGroup("g").build());
            }
            try (PushConsumer ignored = listener("order-java", "order", view -> {
                found.add(body(view) + "/" + view.getDeliveryAttempt());
                five.countDown();
                return body(view).equals("bad") ? ConsumeResult.FAILURE : ConsumeResult.SUCCESS;
            }); SimpleConsumer dead = consumer("order-dead", "%DLQ%order-java")) {
                five.await(60, TimeUnit.SECONDS);
                result("order", String.join(",", found));
                receive(dead, 1).forEach(view -> result("dead", body(view)));
            }
        }
    }

    private static void commands() throws Exception {
        try (Producer producer = producer("commands"); PushConsumer ignored = listener("commands-java", "commands",
                view -> body(view).equals("bad") ? ConsumeResult.FAILURE : ConsumeResult.SUCCESS)) {
            System.out.println("waiting");
            System.in.read();
        }
    }

    private static void large() throws Exception {
        try (Producer producer = producer("large"); SimpleConsumer consumer = consumer("large-java", "large")) {
            MessageBuilder builder = PROVIDER.newMessageBuilder().setTopic("large").setBody(new byte[LARGEST]);
            for (int number = 0; number < 12; number++) {
                builder.addProperty("name-" + number, "x".repeat(1_000));
            }
            producer.send(builder.build());
            MessageView view = receive(consumer, 1).get(0);
            result("large", view.getBody().remaining() + " " + view.getProperties().size());
        }
    }
}

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BooleanSupplier;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * Many cases of the official Java client in one process, each in a thread of its own.
 *
 * Prints "case NAME ok ..." for each that went well and "case NAME failed: ..." otherwise.
 */
abstract class JavaCases {
    protected static final long WAIT_MILLIS = 60_000;

    protected final String nameServer;
    protected final DefaultMQProducer producer = new DefaultMQProducer("PG-CASES");

    protected JavaCases(String nameServer) {
        this.nameServer = nameServer;
        producer.setNamesrvAddr(nameServer);
    }

    protected interface Case {
        String run() throws Exception;
    }

    protected abstract Map<String, Case> all();

    /** Runs the cases named from the second word on, and ends the process. */
    protected void runAll(String[] words) throws Exception {
        producer.start();
        Map<String, Case> all = all();
        List<Thread> threads = new ArrayList<>();
        for (int i = 1; i < words.length; i++) {
            String name = words[i];
            Thread thread = new Thread(() -> report(name, all.get(name)), name);
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.exit(0);
    }

    protected static void report(String name, Case body) {
        String line;
        try {
            line = "case " + name + " ok " + body.run();
        } catch (Throwable failure) {
            StackTraceElement[] trace = failure.getStackTrace();
            line = "case " + name + " failed: " + failure + " by " + failure.getCause() + (trace.length > 0 ? " at " + trace[0] : "");
        }
        synchronized (System.out) {
            System.out.println(line.replace('\n', ' '));
        }
    }

    protected static void check(boolean holds, String what) {
        if (!holds) {
            throw new IllegalStateException(what);
        }
    }

    protected static void await(String what, BooleanSupplier holds) throws InterruptedException {
        long end = System.currentTimeMillis() + WAIT_MILLIS;
        while (!holds.getAsBoolean()) {
            check(System.currentTimeMillis() < end, "waited in vain for " + what);
            Thread.sleep(10);
        }
    }

    protected void send(String topic, String tag, String body, String price) throws Exception {
        Message message = new Message(topic, tag, body.getBytes(StandardCharsets.UTF_8));
        if (price != null) {
            message.putUserProperty("price", price);
        }
        producer.send(message);
    }

    protected static String text(MessageExt message) {
        return new String(message.getBody(), StandardCharsets.UTF_8);
    }

    protected DefaultMQPushConsumer consumer(String group, String instance, Set<String> into) {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(group);
        consumer.setNamesrvAddr(nameServer);
        consumer.setInstanceName(instance);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            messages.forEach(message -> into.add(text(message)));
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        return consumer;
    }

    protected static Set<String> newSet() {
        return ConcurrentHashMap.newKeySet();
    }
}

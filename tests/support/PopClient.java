import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.ConsumeOrderlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.listener.MessageListenerOrderly;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * The official Java client of 5.x as a POP consumer: the broker divides the queues and hands out messages for a time.
 *
 * <pre>
 *   PopClient NAME_SERVER TOPIC GROUP EXPRESSION COUNT MODE
 * </pre>
 *
 * MODE is ack, orderly, keep (it says what it has, does not finish, and waits to be killed), or fail (every message is wanted
 * again, and when it has come again it is not finished either). Prints one line "got QUEUE OFFSET TAG KEY TIMES WORDS" per message.
 */
public final class PopClient {
    private static final int STARTS_MAX = 10;

    public static void main(String[] args) throws Exception {
        String mode = args[5];
        CountDownLatch left = new CountDownLatch(Integer.parseInt(args[4]));
        DefaultMQPushConsumer consumer = started(args, left);
        left.await(90, TimeUnit.SECONDS);
        Thread.sleep(mode.equals("keep") ? 60_000 : 500); // the last acks are on their way
        consumer.shutdown();
        System.exit(0);
    }

    /**
     * A consumer that has started. On a busy machine the first request for the route fails ("send request failed") or its answer
     * is late by the client's clock of 3 s; a start of 5.3.3 is over then, and an application has to begin a new one.
     */
    private static DefaultMQPushConsumer started(String[] args, CountDownLatch left) throws Exception {
        for (int number = 1; ; number++) {
            DefaultMQPushConsumer consumer = made(args, left);
            try {
                consumer.start();
                return consumer;
            } catch (IllegalStateException error) {
                consumer.shutdown();
                if (number == STARTS_MAX) {
                    error.printStackTrace();
                    System.exit(1); // threads of the client would go on for ever
                }
                System.err.println("start " + number + " failed: " + error);
            }
        }
    }

    private static DefaultMQPushConsumer made(String[] args, CountDownLatch left) throws Exception {
        String mode = args[5];
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(args[2]);
        consumer.setNamesrvAddr(args[0]);
        consumer.setClientRebalance(false);
        consumer.setPopInvisibleTime(5_000);
        consumer.setConsumeThreadMin(4);
        consumer.setConsumeThreadMax(4);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(args[1], args[3]);
        if (mode.equals("orderly")) {
            consumer.registerMessageListener((MessageListenerOrderly) (messages, context) -> {
                take(messages.get(0), left);
                return ConsumeOrderlyStatus.SUCCESS;
            });
        } else {
            consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
                take(messages.get(0), left);
                boolean failsFirst = mode.equals("fail") && messages.get(0).getReconsumeTimes() == 0;
                if (!failsFirst && !mode.equals("ack")) {
                    try {
                        Thread.sleep(Long.MAX_VALUE);
                    } catch (InterruptedException error) {
                        Thread.currentThread().interrupt();
                    }
                }
                return failsFirst ? ConsumeConcurrentlyStatus.RECONSUME_LATER : ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
            });
        }
        return consumer;
    }

    private static synchronized void take(MessageExt message, CountDownLatch left) {
        String words = new String(message.getBody(), StandardCharsets.UTF_8).replace(".", "");
        System.out.println(
                "got " + message.getQueueId() + " " + message.getQueueOffset() + " " + message.getTags() + " "
                        + message.getKeys() + " " + message.getReconsumeTimes() + " " + words);
        System.out.flush();
        left.countDown();
    }
}

import java.nio.charset.StandardCharsets;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.remoting.exception.RemotingException;

/**
 * The official Java client of 5.3 with messages that have a time of their own.
 *
 * <pre>
 *   JavaTimers NAME_SERVER TOPIC COUNT FIRST_DELAY_MS STEP_MS RECALLED
 * </pre>
 *
 * Sends COUNT messages, then recalls the one with the number RECALLED. Every line of result begins with "sent" or "recalled".
 */
public final class JavaTimers {
    public static void main(String[] args) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("PG-TIMERS");
        producer.setNamesrvAddr(args[0]);
        producer.setSendMsgTimeout(30_000);
        producer.setMqClientApiTimeout(30_000);
        producer.start();
        try {
            waitForRoute(producer, args[1]);
            sendAndRecall(producer, args);
        } catch (Exception error) {
            // The client's threads would keep the program alive.
            error.printStackTrace();
            System.exit(1);
        }
        System.exit(0);
    }

    /** A broker that has just started may not be registered yet. */
    private static void waitForRoute(DefaultMQProducer producer, String topic) throws Exception {
        for (int tries = 0; ; tries++) {
            try {
                producer.send(new Message(topic + "-first", new byte[] {1}));
                return;
            } catch (MQClientException | RemotingException | IllegalStateException error) {
                if (tries == 60) {
                    throw error;
                }
                Thread.sleep(500);
            }
        }
    }

    private static void sendAndRecall(DefaultMQProducer producer, String[] args) throws Exception {
        String recalled = null;
        for (int number = 0; number < Integer.parseInt(args[2]); number++) {
            Message message = new Message(args[1], "TagA", "key-" + number, ("timer-" + number).getBytes(StandardCharsets.UTF_8));
            message.setDelayTimeMs(Long.parseLong(args[3]) + number * Long.parseLong(args[4]));
            SendResult result = producer.send(message);
            System.out.println("sent " + result.getSendStatus() + " " + result.getMsgId() + " " + result.getRecallHandle());
            if (number == Integer.parseInt(args[5])) {
                recalled = result.getRecallHandle();
            }
        }
        System.out.println("recalled " + producer.recallMessage(args[1], recalled));
    }
}

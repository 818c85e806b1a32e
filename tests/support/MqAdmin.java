import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.tools.command.MQAdminStartup;

/**
 * Runs many commands of the admin tool in one JVM: one command a line, arguments divided by tabs.
 * Two of its own: "@consume -n NAMESERVER TOPIC GROUP" starts a push consumer, "@count" says how many messages it had.
 */
public class MqAdmin {
    private static final AtomicInteger CONSUMED = new AtomicInteger();

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            try {
                run(line.split("\t"));
            } catch (Throwable fault) {
                System.out.println("FAULT " + fault);
            }
            System.out.println("\n@@END");
            System.out.flush();
        }
        System.exit(0);
    }

    private static void run(String[] command) throws Exception {
        if (command[0].equals("@count")) {
            System.out.println("count " + CONSUMED.get());
        } else if (command[0].equals("@consume")) {
            consume(command[2], command[3], command[4]);
        } else {
            MQAdminStartup.main0(command, null);
        }
    }

    private static void consume(String nameServer, String topic, String group) throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer(group);
        consumer.setNamesrvAddr(nameServer);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            CONSUMED.addAndGet(messages.size());
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
    }
}

import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.acl.common.AclClientRPCHook;
import org.apache.rocketmq.acl.common.SessionCredentials;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.remoting.RPCHook;

/** Sends and consumes with an access key, with or without TLS: JavaSecured NAME_SERVER ACCESS_KEY SECRET tls|plain COUNT. */
public class JavaSecured {
    public static void main(String[] arguments) throws Exception {
        RPCHook hook = new AclClientRPCHook(new SessionCredentials(arguments[1], arguments[2]));
        boolean tls = arguments[3].equals("tls");
        int count = Integer.parseInt(arguments[4]);
        DefaultMQProducer producer = new DefaultMQProducer("PG", hook);
        producer.setNamesrvAddr(arguments[0]);
        producer.setUseTLS(tls);
        producer.setSendMsgTimeout(20_000);
        producer.setRetryTimesWhenSendFailed(0);
        producer.start();
        try {
            for (int number = 0; number < count; number++) {
                producer.send(new Message("orders", "A", ("body " + number).getBytes(StandardCharsets.UTF_8)));
                System.out.println("sent " + number);
            }
        } catch (Exception refused) {
            System.out.println("refused " + refused.getMessage().replace('\n', ' '));
            System.exit(0);
        }
        CountDownLatch left = new CountDownLatch(count);
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer("shop", hook, new AllocateMessageQueueAveragely());
        consumer.setNamesrvAddr(arguments[0]);
        consumer.setUseTLS(tls);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe("orders", "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            for (MessageExt message : messages) {
                System.out.println("got " + new String(message.getBody(), StandardCharsets.UTF_8));
                left.countDown();
            }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        System.out.println("all " + left.await(60, TimeUnit.SECONDS));
        consumer.shutdown();
        producer.shutdown();
        System.exit(0);
    }
}

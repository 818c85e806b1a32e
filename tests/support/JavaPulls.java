import org.apache.rocketmq.client.consumer.DefaultMQPullConsumer;
import org.apache.rocketmq.client.consumer.PullResult;
import org.apache.rocketmq.common.message.MessageQueue;

/** Pulls a topic through, queue by queue: NAMESERVER TOPIC ROUNDS; prints messages and seconds of each round. */
public class JavaPulls {
    public static void main(String[] arguments) throws Exception {
        DefaultMQPullConsumer consumer = new DefaultMQPullConsumer("j-pulls");
        consumer.setNamesrvAddr(arguments[0]);
        consumer.start();
        for (int round = 0; round < Integer.parseInt(arguments[2]); round++) {
            long begin = System.nanoTime();
            long count = 0;
            for (MessageQueue queue : consumer.fetchSubscribeMessageQueues(arguments[1])) {
                long offset = consumer.minOffset(queue);
                long end = consumer.maxOffset(queue);
                while (offset < end) {
                    PullResult result = consumer.pull(queue, "*", offset, 32);
                    count += result.getMsgFoundList() == null ? 0 : result.getMsgFoundList().size();
                    offset = result.getNextBeginOffset();
                }
            }
            System.out.println(count + " " + (System.nanoTime() - begin) / 1e9);
        }
        consumer.shutdown();
        System.exit(0);
    }
}

import java.nio.charset.StandardCharsets;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.client.producer.TransactionSendResult;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * A transactional producer of the official Java client. The body of a message says what becomes of it:
 *
 * <pre>
 *   commit-N, rollback-N                    decided by the local transaction
 *   check-commit-N, check-rollback-N        unknown first, decided by the first check
 * </pre>
 *
 * <pre>
 *   JavaTransactions send    NAME_SERVER TOPIC GROUP COUNT   sends COUNT of the four kinds in turn; runs until its input ends
 *   JavaTransactions orphan  NAME_SERVER TOPIC GROUP COUNT   sends COUNT of the last two kinds and halts in mid-transaction
 *   JavaTransactions answer  NAME_SERVER TOPIC GROUP 0       only answers checks; runs until its input ends
 * </pre>
 */
public final class JavaTransactions {
    private static final String[] KINDS = {"commit", "rollback", "check-commit", "check-rollback"};

    public static void main(String[] args) throws Exception {
        boolean orphan = args[0].equals("orphan");
        TransactionMQProducer producer = new TransactionMQProducer(args[3]);
        producer.setNamesrvAddr(args[1]);
        producer.setSendMsgTimeout(10_000);
        producer.setTransactionListener(new TransactionListener() {
            @Override
            public LocalTransactionState executeLocalTransaction(Message message, Object argument) {
                return orphan || text(message).startsWith("check-") ? LocalTransactionState.UNKNOW : fate(message);
            }

            @Override
            public LocalTransactionState checkLocalTransaction(MessageExt message) {
                System.out.println("checked " + text(message));
                return orphan ? LocalTransactionState.UNKNOW : fate(message);
            }
        });
        producer.start();
        int count = Integer.parseInt(args[4]);
        for (int number = 0; number < count; number++) {
            String kind = orphan ? KINDS[2 + number % 2] : KINDS[number % 4];
            Message message = new Message(args[2], "Tag", "key-" + number, (kind + "-" + number).getBytes(StandardCharsets.UTF_8));
            TransactionSendResult result = producer.sendMessageInTransaction(message, null);
            System.out.println("sent " + result.getSendStatus() + " " + result.getLocalTransactionState());
        }
        if (orphan) {
            System.out.flush();
            Runtime.getRuntime().halt(0);
        }
        if (count == 0) {
            // A producer makes itself known to the brokers of the topics that it has sent to.
            producer.send(new Message(args[2], "Tag", "plain".getBytes(StandardCharsets.UTF_8)));
        }
        System.out.println("ready");
        System.in.read();
        producer.shutdown();
        System.exit(0);
    }

    private static String text(Message message) {
        return new String(message.getBody(), StandardCharsets.UTF_8);
    }

    private static LocalTransactionState fate(Message message) {
        boolean commits = text(message).contains("commit");
        return commits ? LocalTransactionState.COMMIT_MESSAGE : LocalTransactionState.ROLLBACK_MESSAGE;
    }
}

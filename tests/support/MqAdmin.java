import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import org.apache.rocketmq.tools.command.MQAdminStartup;

/** Runs many commands of the admin tool in one JVM: one command a line, arguments divided by tabs. */
public class MqAdmin {
    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            try {
                MQAdminStartup.main0(line.split("\t"), null);
            } catch (Throwable fault) {
                System.out.println("FAULT " + fault);
            }
            System.out.flush();
            System.out.println("\n@@END");
            System.out.flush();
        }
        System.exit(0);
    }
}

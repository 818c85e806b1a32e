// A transactional producer of the Go client of RocketMQ. The body of a message says what becomes of it:
//
//	commit-N, rollback-N                    decided by the local transaction
//	check-commit-N, check-rollback-N        unknown first, decided by the first check
//
//	go_transactions send   NAME_SERVER TOPIC GROUP COUNT   sends COUNT of the four kinds in turn; runs until its input ends
//	go_transactions orphan NAME_SERVER TOPIC GROUP COUNT   sends COUNT of the last two kinds and exits in mid-transaction
//	go_transactions answer NAME_SERVER TOPIC GROUP 0       only answers checks; runs until its input ends
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
	"github.com/apache/rocketmq-client-go/v2/rlog"
)

var kinds = []string{"commit", "rollback", "check-commit", "check-rollback"}

type listener struct{ orphan bool }

func fate(body []byte) primitive.LocalTransactionState {
	if strings.Contains(string(body), "commit") {
		return primitive.CommitMessageState
	}
	return primitive.RollbackMessageState
}

func (l listener) ExecuteLocalTransaction(message *primitive.Message) primitive.LocalTransactionState {
	if l.orphan || strings.HasPrefix(string(message.Body), "check-") {
		return primitive.UnknowState
	}
	return fate(message.Body)
}

func (l listener) CheckLocalTransaction(message *primitive.MessageExt) primitive.LocalTransactionState {
	fmt.Println("checked", string(message.Body))
	if l.orphan {
		return primitive.UnknowState
	}
	return fate(message.Body)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	rlog.SetLogLevel("error")
	orphan := os.Args[1] == "orphan"
	topic := os.Args[3]
	count, err := strconv.Atoi(os.Args[5])
	must(err)
	options := []producer.Option{
		producer.WithNameServer([]string{os.Args[2]}),
		producer.WithGroupName(os.Args[4]),
		producer.WithSendMsgTimeout(10 * time.Second),
	}
	p, err := rocketmq.NewTransactionProducer(listener{orphan}, options...)
	must(err)
	must(p.Start())
	for number := 0; number < count; number++ {
		kind := kinds[number%4]
		if orphan {
			kind = kinds[2+number%2]
		}
		message := primitive.NewMessage(topic, []byte(fmt.Sprintf("%s-%d", kind, number)))
		result, err := p.SendMessageInTransaction(context.Background(), message)
		must(err)
		fmt.Println("sent", result.Status, result.State)
	}
	if orphan {
		os.Exit(0)
	}
	if count == 0 {
		// A producer makes itself known to the brokers of the topics that it has sent to: a rollback leaves nothing behind.
		_, err := p.SendMessageInTransaction(context.Background(), primitive.NewMessage(topic, []byte("rollback-known")))
		must(err)
	}
	fmt.Println("ready")
	_, err = io.ReadAll(os.Stdin)
	must(err)
	os.Exit(0)
}

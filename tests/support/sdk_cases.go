// The Go SDK of RocketMQ 5 in its default settings (TLS): prints "case NAME RESULT" for each thing that it tries.
package main

import (
	"context"
	"fmt"
	"os"
	"sort"
	"strings"
	"time"

	rmq "github.com/apache/rocketmq-clients/golang/v5"
	"github.com/apache/rocketmq-clients/golang/v5/credentials"
)

func must(err error) {
	if err != nil {
		fmt.Println("failed", err)
		os.Exit(1)
	}
}

func config(endpoint, group string) *rmq.Config {
	return &rmq.Config{Endpoint: endpoint, ConsumerGroup: group, Credentials: &credentials.SessionCredentials{}}
}

func consumer(endpoint, group, topic string) rmq.SimpleConsumer {
	made, err := rmq.NewSimpleConsumer(config(endpoint, group), rmq.WithSimpleAwaitDuration(5*time.Second),
		rmq.WithSimpleSubscriptionExpressions(map[string]*rmq.FilterExpression{topic: rmq.SUB_ALL}))
	must(err)
	must(made.Start())
	return made
}

func receive(consumer rmq.SimpleConsumer, count int) []*rmq.MessageView {
	found := []*rmq.MessageView{}
	for end := time.Now().Add(40 * time.Second); len(found) < count && time.Now().Before(end); {
		views, err := consumer.Receive(context.TODO(), 16, 30*time.Second)
		if err != nil {
			continue // nothing there is an error of this SDK
		}
		for _, view := range views {
			found = append(found, view)
			must(consumer.Ack(context.TODO(), view))
		}
	}
	return found
}

func bodies(views []*rmq.MessageView) []string {
	found := []string{}
	for _, view := range views {
		found = append(found, string(view.GetBody()))
	}
	return found
}

func sorted(views []*rmq.MessageView) string {
	found := bodies(views)
	sort.Strings(found)
	return strings.Join(found, ",")
}

func send(producer rmq.Producer, message *rmq.Message) {
	_, err := producer.Send(context.TODO(), message)
	must(err)
}

func main() {
	endpoint := os.Args[1]
	os.Setenv("mq.consoleAppender.enabled", "false")
	rmq.ResetLogger()
	producer, err := rmq.NewProducer(config(endpoint, ""), rmq.WithTopics("sdk-go", "sdk-go-fifo"))
	must(err)
	must(producer.Start())
	simple := consumer(endpoint, "sdk-go-simple", "sdk-go")
	message := &rmq.Message{Topic: "sdk-go", Body: []byte("one")}
	message.SetTag("T")
	message.SetKeys("k1", "k2")
	message.AddProperty("color", "red")
	send(producer, message)
	send(producer, &rmq.Message{Topic: "sdk-go", Body: []byte("two")})
	views := receive(simple, 2)
	fmt.Println("case simple", sorted(views))
	for _, view := range views {
		if string(view.GetBody()) == "one" {
			fmt.Println("case fields", *view.GetTag(), len(view.GetKeys()), view.GetProperties()["color"])
		}
	}
	ordered := consumer(endpoint, "sdk-go-ordered", "sdk-go-fifo")
	for number := 0; number < 8; number++ {
		one := &rmq.Message{Topic: "sdk-go-fifo", Body: []byte(fmt.Sprint(number))}
		one.SetMessageGroup("g")
		send(producer, one)
	}
	fmt.Println("case fifo", strings.Join(bodies(receive(ordered, 8)), ","))
	late := &rmq.Message{Topic: "sdk-go", Body: []byte("late")}
	due := time.Now().Add(3 * time.Second)
	late.SetDelayTimestamp(due)
	send(producer, late)
	fmt.Println("case delay", sorted(receive(simple, 1)), time.Now().After(due.Add(-100*time.Millisecond)))
	must(simple.GracefulStop())
	must(ordered.GracefulStop())
	must(producer.GracefulStop())
	transactions(endpoint)
}

func transactions(endpoint string) {
	checker := &rmq.TransactionChecker{Check: func(*rmq.MessageView) rmq.TransactionResolution { return rmq.COMMIT }}
	producer, err := rmq.NewProducer(config(endpoint, ""), rmq.WithTopics("sdk-go-tx"), rmq.WithTransactionChecker(checker))
	must(err)
	must(producer.Start())
	reader := consumer(endpoint, "sdk-go-tx-group", "sdk-go-tx")
	for _, body := range []string{"commit", "roll-back", "orphan"} {
		transaction := producer.BeginTransaction()
		_, err := producer.SendWithTransaction(context.TODO(), &rmq.Message{Topic: "sdk-go-tx", Body: []byte(body)}, transaction)
		must(err)
		if body == "commit" {
			must(transaction.Commit())
		} else if body == "roll-back" {
			must(transaction.RollBack())
		}
	}
	fmt.Println("case transactions", sorted(receive(reader, 2)))
	must(reader.GracefulStop())
	must(producer.GracefulStop())
}

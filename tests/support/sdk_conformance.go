// The Go SDK of RocketMQ 5 in one case of a list of conformance: ENDPOINT CASE; prints "case NAME RESULT".
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	rmq "github.com/apache/rocketmq-clients/golang/v5"
	"github.com/apache/rocketmq-clients/golang/v5/credentials"
)

const wait = 60 * time.Second

func must(err error) {
	if err != nil {
		fmt.Println("failed", err)
		os.Exit(1)
	}
}

func config(group string) *rmq.Config {
	return &rmq.Config{Endpoint: os.Args[1], ConsumerGroup: group, Credentials: &credentials.SessionCredentials{}}
}

func consumer(group, topic string) rmq.SimpleConsumer {
	made, err := rmq.NewSimpleConsumer(config(group), rmq.WithSimpleAwaitDuration(5*time.Second),
		rmq.WithSimpleSubscriptionExpressions(map[string]*rmq.FilterExpression{topic: rmq.SUB_ALL}))
	must(err)
	must(made.Start())
	return made
}

func receive(consumer rmq.SimpleConsumer, count int) []string {
	found := []string{}
	for end := time.Now().Add(wait); len(found) < count && time.Now().Before(end); {
		views, err := consumer.Receive(context.TODO(), 16, 30*time.Second)
		if err != nil {
			time.Sleep(200 * time.Millisecond) // nothing is there, or the broker is away
			continue
		}
		for _, view := range views {
			found = append(found, string(view.GetBody()))
			_ = consumer.Ack(context.TODO(), view)
		}
	}
	return found
}

func send(producer rmq.Producer, topic, body string) {
	for end := time.Now().Add(wait); ; {
		_, err := producer.Send(context.TODO(), &rmq.Message{Topic: topic, Body: []byte(body)})
		if err == nil {
			return
		}
		if time.Now().After(end) {
			must(err)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

func compressed() {
	source := consumer("packed-go", "packed")
	same := 0
	for _, body := range receive(source, 3) {
		if body == strings.Repeat("packed ", 500) {
			same++
		}
	}
	fmt.Println("case compressed", same)
	must(source.GracefulStop())
}

func again() {
	producer, err := rmq.NewProducer(config(""), rmq.WithTopics("again-go"))
	must(err)
	must(producer.Start())
	source := consumer("again-go", "again-go")
	input := bufio.NewReader(os.Stdin)
	for _, body := range []string{"before", "after"} {
		send(producer, "again-go", body)
		for _, found := range receive(source, 1) {
			fmt.Println("case", body, found)
		}
		fmt.Println("waiting")
		_, _ = input.ReadString('\n')
	}
	must(source.GracefulStop())
	must(producer.GracefulStop())
}

// A push consumer in order, one of whose messages always fails; the others come in their turn.
func order() {
	producer, err := rmq.NewProducer(config(""), rmq.WithTopics("order"))
	must(err)
	must(producer.Start())
	for _, body := range []string{"0", "bad", "1", "2"} {
		message := &rmq.Message{Topic: "order", Body: []byte(body)}
		message.SetMessageGroup("g")
		_, err := producer.Send(context.TODO(), message)
		must(err)
	}
	taken := make(chan string, 16)
	consume := func(view *rmq.MessageView) rmq.ConsumerResult {
		taken <- fmt.Sprintf("%s/%d", view.GetBody(), view.GetDeliveryAttempt())
		if string(view.GetBody()) == "bad" {
			return rmq.FAILURE
		}
		return rmq.SUCCESS
	}
	source, err := rmq.NewPushConsumer(config("order-go"),
		rmq.WithPushSubscriptionExpressions(map[string]*rmq.FilterExpression{"order": rmq.SUB_ALL}),
		rmq.WithPushMessageListener(&rmq.FuncMessageListener{Consume: consume}))
	must(err)
	must(source.Start())
	found := []string{<-taken}
	for found[len(found)-1] != "2/1" {
		found = append(found, <-taken)
	}
	fmt.Println("case order", strings.Join(found, ","))
	for _, body := range receive(consumer("order-dead", "%DLQ%order-go"), 1) {
		fmt.Println("case dead", body)
	}
}

func main() {
	os.Setenv("mq.consoleAppender.enabled", "false")
	rmq.ResetLogger()
	map[string]func(){"compressed": compressed, "again": again, "order": order}[os.Args[2]]()
}

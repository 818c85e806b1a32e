// The Go SDK of RocketMQ 5 in its default settings (TLS): prints "case NAME RESULT" for each thing that it tries.
package main

import (
	"context"
	"fmt"
	"os"
	"sort"
	"strings"
	"sync"
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
	for end := time.Now().Add(100 * time.Second); len(found) < count && time.Now().Before(end); {
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
	producer, err := rmq.NewProducer(config(endpoint, ""), rmq.WithTopics("sdk-go", "sdk-go-fifo", "sdk-go-delay", "sdk-go-push", "sdk-go-dead"))
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
	delayed := consumer(endpoint, "sdk-go-delayed", "sdk-go-delay")
	late := &rmq.Message{Topic: "sdk-go-delay", Body: []byte("late")}
	due := time.Now().Add(3 * time.Second)
	late.SetDelayTimestamp(due)
	send(producer, late)
	fmt.Println("case delay", sorted(receive(delayed, 1)), time.Now().After(due.Add(-100*time.Millisecond)))
	must(simple.GracefulStop())
	must(ordered.GracefulStop())
	must(delayed.GracefulStop())
	push(endpoint, producer)
	dead(endpoint, producer)
	must(producer.GracefulStop())
	transactions(endpoint)
	stopping.Wait()
}

// Starts a push consumer whose deliveries are numbered; the first ones fail. Each attempt is passed to the channel.
func listener(endpoint, group, topic string, failures int32) (rmq.PushConsumer, chan int32) {
	attempts := make(chan int32, 16)
	consume := func(view *rmq.MessageView) rmq.ConsumerResult {
		attempts <- view.GetDeliveryAttempt()
		if view.GetDeliveryAttempt() <= failures {
			return rmq.FAILURE
		}
		return rmq.SUCCESS
	}
	made, err := rmq.NewPushConsumer(config(endpoint, group),
		rmq.WithPushSubscriptionExpressions(map[string]*rmq.FilterExpression{topic: rmq.SUB_ALL}),
		rmq.WithPushMessageListener(&rmq.FuncMessageListener{Consume: consume}))
	must(err)
	must(made.Start())
	return made, attempts
}

var stopping sync.WaitGroup

// Stops a push consumer, which waits for the end of a receive, beside what follows.
func stop(consumer rmq.PushConsumer) {
	stopping.Add(1)
	go func() {
		defer stopping.Done()
		must(consumer.GracefulStop())
	}()
}

func push(endpoint string, producer rmq.Producer) {
	pusher, attempts := listener(endpoint, "sdk-go-pushers", "sdk-go-push", 1)
	send(producer, &rmq.Message{Topic: "sdk-go-push", Body: []byte("push")})
	fmt.Printf("case push [%d,%d]\n", <-attempts, <-attempts)
	stop(pusher)
}

func dead(endpoint string, producer rmq.Producer) {
	failing, attempts := listener(endpoint, "sdk-go-buried", "sdk-go-dead", 99)
	undertaker := consumer(endpoint, "sdk-go-undertaker", "%DLQ%sdk-go-buried")
	send(producer, &rmq.Message{Topic: "sdk-go-dead", Body: []byte("dies")})
	buried := sorted(receive(undertaker, 1))
	fmt.Printf("case dead %s [%d,%d]\n", buried, <-attempts, <-attempts)
	must(undertaker.GracefulStop())
	stop(failing)
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

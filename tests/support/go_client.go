// The Go client of RocketMQ, one job per process:
//
//	go_client send    NAME_SERVER TOPIC COUNT                    COUNT messages in each way of sending
//	go_client consume NAME_SERVER TOPIC GROUP EXPRESSION [HOW]   one line per message, until standard input ends; an expression
//	                                                             that begins with sql: is a SQL92 filter, HOW is orderly or broadcasting
//	go_client share   NAME_SERVER TOPIC GROUP COUNT              two consumers of one group; COUNT messages sent once they share
//
// Every line of result begins with "sent" or "got".
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
	"github.com/apache/rocketmq-client-go/v2/rlog"
)

const (
	sendTimeout    = 10 * time.Second
	consumeTimeout = 60 * time.Second
)

var printing sync.Mutex

func main() {
	rlog.SetLogLevel("warn")
	nameServer, topic := os.Args[2], os.Args[3]
	switch os.Args[1] {
	case "send":
		send(nameServer, topic, number(os.Args[4]))
	case "consume":
		how := ""
		if len(os.Args) > 6 {
			how = os.Args[6]
		}
		consume(nameServer, topic, os.Args[4], os.Args[5], how)
	case "share":
		share(nameServer, topic, os.Args[4], number(os.Args[5]))
	}
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	must(err)
	return value
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func report(words ...any) {
	printing.Lock()
	defer printing.Unlock()
	fmt.Println(words...)
}

// One in ten is long enough to be compressed.
func message(topic string, number int) *primitive.Message {
	body := fmt.Sprintf("body-%d 中文", number)
	if number%10 == 9 {
		body += strings.Repeat(".", 8000)
	}
	message := primitive.NewMessage(topic, []byte(body))
	return message.WithTag([]string{"TagA", "TagB"}[number%2]).WithKeys([]string{fmt.Sprintf("key-%d", number)})
}

func newProducer(nameServer string) rocketmq.Producer {
	p, err := rocketmq.NewProducer(
		producer.WithNameServer([]string{nameServer}),
		producer.WithGroupName("PG-GO"),
		producer.WithSendMsgTimeout(sendTimeout),
	)
	must(err)
	must(p.Start())
	return p
}

func reportSent(result *primitive.SendResult, err error) {
	must(err)
	if result.Status != primitive.SendOK {
		panic(result.String())
	}
	report("sent", result.OffsetMsgID, result.MessageQueue.QueueId)
}

func send(nameServer, topic string, count int) {
	p := newProducer(nameServer)
	for i := 0; i < count; i++ {
		reportSent(p.SendSync(context.Background(), message(topic, i)))
	}
	var answered sync.WaitGroup
	answered.Add(count)
	for i := count; i < 2*count; i++ {
		must(p.SendAsync(context.Background(), func(_ context.Context, result *primitive.SendResult, err error) {
			reportSent(result, err)
			answered.Done()
		}, message(topic, i)))
	}
	answered.Wait()
	batch := make([]*primitive.Message, count)
	for i := range batch {
		batch[i] = message(topic, 2*count+i)
	}
	reportSent(p.SendSync(context.Background(), batch...))
	for i := 3 * count; i < 4*count; i++ {
		must(p.SendOneWay(context.Background(), message(topic, i)))
	}
	// Its answer says that the broker has read the messages before it; closing the connection at once could lose them.
	reportSent(p.SendSync(context.Background(), message(topic, 4*count)))
	must(p.Shutdown())
}

func startConsumer(
	nameServer, topic, group, expression, instance string, take func(*primitive.MessageExt), options ...consumer.Option,
) rocketmq.PushConsumer {
	c, err := rocketmq.NewPushConsumer(append(options,
		consumer.WithNameServer([]string{nameServer}),
		consumer.WithGroupName(group),
		consumer.WithInstance(instance),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
	)...)
	must(err)
	selector := consumer.MessageSelector{Type: consumer.TAG, Expression: expression}
	if filter, isSql := strings.CutPrefix(expression, "sql:"); isSql {
		selector = consumer.MessageSelector{Type: consumer.SQL92, Expression: filter}
	}
	must(c.Subscribe(topic, selector, func(_ context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		for _, m := range messages {
			take(m)
		}
		return consumer.ConsumeSuccess, nil
	}))
	must(c.Start())
	return c
}

func consume(nameServer, topic, group, expression, how string) {
	options := map[string][]consumer.Option{
		"orderly":      {consumer.WithConsumerOrder(true)},
		"broadcasting": {consumer.WithConsumerModel(consumer.BroadCasting)},
	}[how]
	c := startConsumer(nameServer, topic, group, expression, "one", func(m *primitive.MessageExt) {
		body := string(m.Body)
		report("got", m.Queue.QueueId, m.QueueOffset, m.GetTags(), m.GetKeys(), len(body), strings.TrimRight(body, "."))
	}, options...)
	_, err := io.Copy(io.Discard, os.Stdin)
	must(err)
	must(c.Shutdown())
}

// Sends at least count messages, and goes on one by one until both consumers have had some; ends when all have come.
func share(nameServer, topic, group string, count int) {
	var lock sync.Mutex
	seen := map[string]int{}
	bodies := map[string]bool{}
	taker := func(instance string) func(*primitive.MessageExt) {
		return func(m *primitive.MessageExt) {
			lock.Lock()
			defer lock.Unlock()
			seen[instance]++
			bodies[string(m.Body)] = true
			report("got", instance, m.Queue.QueueId, m.QueueOffset, string(m.Body))
		}
	}
	state := func() (shared bool, arrived int) {
		lock.Lock()
		defer lock.Unlock()
		return seen["first"] > 0 && seen["second"] > 0, len(bodies)
	}
	p := newProducer(nameServer)
	sendNext := func(number int) {
		_, err := p.SendSync(context.Background(), primitive.NewMessage(topic, []byte(strconv.Itoa(number))))
		must(err)
	}
	sendNext(0)
	sent := 1
	first := startConsumer(nameServer, topic, group, "*", "first", taker("first"))
	second := startConsumer(nameServer, topic, group, "*", "second", taker("second"))
	for end := time.Now().Add(consumeTimeout); time.Now().Before(end); {
		shared, arrived := state()
		if sent >= count && arrived == sent && shared {
			break
		}
		if sent < count || arrived == sent {
			sendNext(sent)
			sent++
		}
		time.Sleep(time.Millisecond)
	}
	report("sent", sent)
	must(first.Shutdown())
	must(second.Shutdown())
	must(p.Shutdown())
}

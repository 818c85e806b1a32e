// Delay levels and retries with the Go client of RocketMQ:
//
//	go_delay NAME_SERVER TOPIC GROUP COUNT    COUNT messages at level 1, then one that fails once
//
// Prints "got KEY DELAY MS_SINCE_BORN" and "tried KEY RECONSUME_TIMES"; ends when all have come.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
	"github.com/apache/rocketmq-client-go/v2/rlog"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	rlog.SetLogLevel("error")
	nameServer, topic, group := os.Args[1], os.Args[2], os.Args[3]
	count, err := strconv.Atoi(os.Args[4])
	must(err)
	var printing sync.Mutex
	var left sync.WaitGroup
	left.Add(count + 2)
	c, err := rocketmq.NewPushConsumer(
		consumer.WithNameServer([]string{nameServer}),
		consumer.WithGroupName(group),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
	)
	must(err)
	must(c.Subscribe(topic, consumer.MessageSelector{Type: consumer.TAG, Expression: "TagA"},
		func(ctx context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
			printing.Lock()
			defer printing.Unlock()
			result := consumer.ConsumeSuccess
			for _, m := range messages {
				if m.GetKeys() == "bad" {
					fmt.Println("tried", m.GetKeys(), m.ReconsumeTimes)
					if m.ReconsumeTimes == 0 {
						result = consumer.ConsumeRetryLater
					}
				} else {
					fmt.Println("got", m.GetKeys(), m.GetProperty(primitive.PropertyDelayTimeLevel), m.StoreTimestamp-m.BornTimestamp)
				}
				left.Done()
			}
			return result, nil
		}))
	must(c.Start())
	p, err := rocketmq.NewProducer(producer.WithNameServer([]string{nameServer}), producer.WithGroupName("PG-GO-DELAY"))
	must(err)
	must(p.Start())
	for i := 0; i < count; i++ {
		m := primitive.NewMessage(topic, []byte("later")).WithTag("TagA").WithKeys([]string{fmt.Sprintf("key-%d", i)})
		_, err := p.SendSync(context.Background(), m.WithDelayTimeLevel(1))
		must(err)
	}
	_, err = p.SendSync(context.Background(), primitive.NewMessage(topic, []byte("bad")).WithTag("TagA").WithKeys([]string{"bad"}))
	must(err)
	finished := make(chan struct{})
	go func() {
		left.Wait()
		close(finished)
	}()
	select {
	case <-finished:
	case <-time.After(90 * time.Second):
	}
	must(c.Shutdown())
	must(p.Shutdown())
}

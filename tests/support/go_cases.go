// What the Go client of RocketMQ can do beside sending and consuming, many cases in one process:
//
//	go_cases NAME_SERVER CASE...
//
// Prints "case NAME RESULT" for each; a case that fails ends the process.
package main

import (
	"context"
	"fmt"
	"os"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
	"github.com/apache/rocketmq-client-go/v2/rlog"
)

const waitTime = 90 * time.Second

var nameServer []string

func main() {
	rlog.SetLogLevel("error")
	nameServer = []string{os.Args[1]}
	cases := map[string]func() string{"dead": deadLetter, "pull": pull, "request": request, "takeover": takeover}
	var running sync.WaitGroup
	for _, name := range os.Args[2:] {
		running.Add(1)
		go func(name string) {
			defer running.Done()
			fmt.Println("case", name, cases[name]())
		}(name)
	}
	running.Wait()
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func waitFor(what string, holds func() bool) {
	for end := time.Now().Add(waitTime); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			panic("waited in vain for " + what)
		}
	}
}

// Bodies that came, in any order.
type bodies struct {
	lock sync.Mutex
	list []string
}

func (b *bodies) add(body string) {
	b.lock.Lock()
	defer b.lock.Unlock()
	b.list = append(b.list, body)
}

func (b *bodies) all() []string {
	b.lock.Lock()
	defer b.lock.Unlock()
	return append([]string{}, b.list...)
}

func newProducer(name string) rocketmq.Producer {
	p, err := rocketmq.NewProducer(producer.WithNameServer(nameServer), producer.WithGroupName("PG-"+name),
		producer.WithInstanceName(name), producer.WithSendMsgTimeout(20*time.Second))
	must(err)
	must(p.Start())
	return p
}

func send(p rocketmq.Producer, topic, body string) {
	_, err := p.SendSync(context.Background(), primitive.NewMessage(topic, []byte(body)).WithTag("t"))
	must(err)
}

const routeTries = 150

type listener = func(context.Context, ...*primitive.MessageExt) (consumer.ConsumeResult, error)

// A topic that its broker makes, as that of dead letters, has its route a moment later: the start is tried again until then.
func newConsumer(topic, group, instance string, listen listener, options ...consumer.Option) rocketmq.PushConsumer {
	for attempt := 0; ; attempt++ {
		name := instance
		if attempt > 0 {
			name = fmt.Sprintf("%s-%d", instance, attempt)
		}
		c, err := rocketmq.NewPushConsumer(append(options, consumer.WithNameServer(nameServer), consumer.WithGroupName(group),
			consumer.WithInstance(name), consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset))...)
		must(err)
		must(c.Subscribe(topic, consumer.MessageSelector{Type: consumer.TAG, Expression: "*"}, listen))
		err = c.Start()
		if err == nil {
			return c
		}
		if attempt == routeTries || !strings.Contains(err.Error(), "route info not found") {
			panic(err)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

func into(got *bodies) listener {
	return func(_ context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		for _, m := range messages {
			got.add(string(m.Body))
		}
		return consumer.ConsumeSuccess, nil
	}
}

// A message that is given back twice is a dead letter; another group reads it there.
func deadLetter() string {
	var times, dead bodies
	p := newProducer("dead")
	send(p, "g-dead", "stubborn")
	c := newConsumer("g-dead", "g-dead-group", "dead", func(ctx context.Context, ms ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		for _, m := range ms {
			times.add(fmt.Sprint(m.ReconsumeTimes))
		}
		return consumer.ConsumeRetryLater, nil
	}, consumer.WithMaxReconsumeTimes(1))
	waitFor("a retry", func() bool { return len(times.all()) == 2 })
	undertaker := newConsumer("%DLQ%g-dead-group", "g-undertaker", "undertaker", into(&dead))
	waitFor("the dead letter", func() bool { return len(dead.all()) == 1 })
	must(c.Shutdown())
	must(undertaker.Shutdown())
	must(p.Shutdown())
	return strings.Join(times.all(), ",") + " " + dead.all()[0]
}

// A pull consumer polls and acknowledges.
func pull() string {
	var got bodies
	p := newProducer("pull")
	for i := 0; i < 20; i++ {
		send(p, "g-pull", fmt.Sprint(i))
	}
	c, err := rocketmq.NewPullConsumer(consumer.WithNameServer(nameServer), consumer.WithGroupName("g-pull-group"),
		consumer.WithInstance("pull"), consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset))
	must(err)
	must(c.Subscribe("g-pull", consumer.MessageSelector{Type: consumer.TAG, Expression: "*"}))
	must(c.Start())
	waitFor("polled messages", func() bool {
		polled, err := c.Poll(context.Background(), time.Second)
		if err == nil {
			for _, m := range polled.GetMsgList() {
				got.add(string(m.Body))
			}
			c.ACK(context.Background(), polled, consumer.ConsumeSuccess)
		}
		return len(got.all()) == 20
	})
	must(c.Shutdown())
	must(p.Shutdown())
	return fmt.Sprint(distinct(got.all()))
}

func distinct(all []string) int {
	set := map[string]bool{}
	for _, body := range all {
		set[body] = true
	}
	return len(set)
}

// The broker knows where to send a reply once it had a heartbeat of the asker; until then a request is asked again.
func request() string {
	replier, asker := newProducer("replier"), newProducer("asker")
	send(asker, "g-request", "before")
	c := newConsumer("g-request", "g-request-group", "responder", func(_ context.Context, ms ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
		for _, m := range ms {
			reply, err := consumer.CreateReplyMessage(m, nil) // which takes a body for properties
			if err == nil {
				reply.Body = []byte("re: " + string(m.Body))
				_, _ = replier.SendSync(context.Background(), reply)
			}
		}
		return consumer.ConsumeSuccess, nil
	})
	var answer string
	waitFor("a reply", func() bool {
		reply, err := asker.Request(context.Background(), 3*time.Second, primitive.NewMessage("g-request", []byte("question")))
		if err == nil {
			answer = string(reply.Body)
		}
		return err == nil
	})
	must(c.Shutdown())
	must(replier.Shutdown())
	must(asker.Shutdown())
	return answer
}

// A second member takes queues over, then the first leaves.
func takeover() string {
	var first, second bodies
	p := newProducer("takeover")
	sent := 0
	next := func() { send(p, "g-takeover", fmt.Sprint(sent)); sent++ }
	for sent < 50 {
		next()
	}
	one := newConsumer("g-takeover", "g-takeover-group", "one", into(&first))
	waitFor("the first member", func() bool { return distinct(first.all()) == 50 })
	two := newConsumer("g-takeover", "g-takeover-group", "two", into(&second))
	waitFor("the second member", func() bool { next(); return len(second.all()) > 0 })
	must(one.Shutdown())
	for end := sent + 40; sent < end; {
		next()
	}
	waitFor("everything after the takeover", func() bool { return distinct(append(first.all(), second.all()...)) == sent })
	must(two.Shutdown())
	must(p.Shutdown())
	all := append(first.all(), second.all()...)
	sort.Strings(all)
	return fmt.Sprint(distinct(all) == sent)
}

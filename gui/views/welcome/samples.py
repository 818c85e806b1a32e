"""Programs that send one message to the broker, one for each client; every one is complete and runs unchanged."""

from __future__ import annotations

from dataclasses import dataclass

from broker_core.worker.questions.stored_messages import SendMessage
from monitoring.compose.sdk_code import SDK_LANGUAGES

TOPIC = "orders"
"""Where all of them send to."""
QUEUES = 8
"""Of the topic, where it is made for SDKs."""
_ADDRESS = "@ADDRESS@"


@dataclass(frozen=True, slots=True)
class CodeSample:
    """One program.

    Attributes:
        title: The language's or framework's own name; never translated.
        language: Name by which the code view highlights it.
        template: The program with a mark for the address.
    """

    title: str
    language: str
    template: str

    def code(self, address: str) -> str:
        """The program with ``address`` (``host:port``) filled in."""
        return self.template.replace(_ADDRESS, address)


_JAVA = """\
// org.apache.rocketmq:rocketmq-client, any 4.x or 5.x
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.Message;

public class Hello {
  public static void main(String[] args) throws Exception {
    DefaultMQProducer producer = new DefaultMQProducer("demo");
    producer.setNamesrvAddr("@ADDRESS@");
    producer.start();
    Message message = new Message("orders", "hello".getBytes());
    System.out.println(producer.send(message));
    producer.shutdown();
  }
}
"""

_GO = """\
// go get github.com/apache/rocketmq-client-go/v2
package main

import (
\t"context"
\t"fmt"

\t"github.com/apache/rocketmq-client-go/v2"
\t"github.com/apache/rocketmq-client-go/v2/primitive"
\t"github.com/apache/rocketmq-client-go/v2/producer"
)

func main() {
\tp, err := rocketmq.NewProducer(
\t\tproducer.WithNameServer([]string{"@ADDRESS@"}),
\t\tproducer.WithGroupName("demo"),
\t)
\tif err != nil {
\t\tpanic(err)
\t}
\tif err := p.Start(); err != nil {
\t\tpanic(err)
\t}
\tdefer p.Shutdown()
\tmessage := primitive.NewMessage("orders", []byte("hello"))
\tfmt.Println(p.SendSync(context.Background(), message))
}
"""

_PYTHON = """\
# pip install rocketmq    (Linux, macOS)
from rocketmq.client import Message, Producer

producer = Producer("demo")
producer.set_namesrv_addr("@ADDRESS@")
producer.start()

message = Message("orders")
message.set_body("hello")
result = producer.send_sync(message)
print(result.status, result.msg_id)

producer.shutdown()
"""

_NODE = """\
// npm install ali-ons urllib
const httpclient = require('urllib');
const { Producer, Message } = require('ali-ons');

async function main() {
  const producer = new Producer({
    httpclient, nameSrv: '@ADDRESS@', producerGroup: 'demo',
  });
  await producer.ready();
  // Other clients do this by themselves: a new topic starts with the default route.
  await producer._mqClient.updateTopicRouteInfoFromNameServer('orders', true, producer);
  console.log(await producer.send(new Message('orders', 'TagA', 'hello')));
  await producer.close();
}

main().then(() => process.exit(0));
"""

_CPP = """\
// github.com/apache/rocketmq-client-cpp 1.x or 2.x
// g++ -std=c++11 -I/usr/local/include/rocketmq hello.cpp -lrocketmq -lpthread
#include <iostream>
#include "DefaultMQProducer.h"

int main() {
  rocketmq::DefaultMQProducer producer("demo");
  producer.setNamesrvAddr("@ADDRESS@");
  producer.start();
  rocketmq::MQMessage message("orders", "TagA", "hello");
  std::cout << producer.send(message).getMsgId() << std::endl;
  producer.shutdown();
  return 0;
}
"""

_SPRING = """\
// src/main/java/hello/Hello.java, with org.apache.rocketmq:rocketmq-spring-boot-starter 2.x
// src/main/resources/application.properties:
//   rocketmq.name-server=@ADDRESS@
//   rocketmq.producer.group=demo
package hello;

import org.apache.rocketmq.spring.core.RocketMQTemplate;
import org.springframework.boot.CommandLineRunner;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;

@SpringBootApplication
public class Hello {
  public static void main(String[] args) {
    SpringApplication.run(Hello.class, args).close();
  }

  @Bean
  CommandLineRunner send(RocketMQTemplate template) {
    return args -> System.out.println(template.syncSend("orders", "hello"));
  }
}
"""

SAMPLES = (
    CodeSample("Java", "java", _JAVA),
    CodeSample("Go", "go", _GO),
    CodeSample("Python", "python", _PYTHON),
    CodeSample("Node", "node", _NODE),
    CodeSample("C++", "c++", _CPP),
    CodeSample("Spring", "java", _SPRING),
)
"""Clients of remoting, which are told the name server."""
_HELLO = SendMessage(TOPIC, -1, b"hello", {})
SDK_SAMPLES = tuple(
    CodeSample(language, language.lower(), program(_HELLO, _ADDRESS)) for language, program in SDK_LANGUAGES.items()
)
"""SDKs of RocketMQ 5, which are told the gRPC port."""

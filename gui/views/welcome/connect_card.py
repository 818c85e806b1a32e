"""`ConnectCard`: sample programs with the address filled in, and a check list that ticks itself.

Programs that send one message to the broker, one for each client family; every one is complete and runs unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QWidget

from gui.theme.manager import ThemeManager
from gui.theme.style import set_role
from gui.views.welcome.progress import FirstSteps
from gui.widgets.basic import IconButton, IconLabel, Line, column, fill, label, row
from gui.widgets.code_view import CodeView
from gui.widgets.containers import PartBar
from gui.widgets.panel import Panel
from gui.widgets.said import on_language, said, said_button, said_label
from gui.words.text import count_text, tr

_ADDRESS = "@ADDRESS@"


@dataclass(frozen=True, slots=True)
class CodeSample:
    """One program.

    Attributes:
        title: The language's or framework's own name; never translated.
        language: Name by which the code view highlights it.
        template: The program with a mark for the name server address.
    """

    title: str
    language: str
    template: str

    def code(self, address: str) -> str:
        """The program with the name server ``address`` (``host:port``) filled in."""
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


COPIED_SHOWN_MS = 1_500
CODE_HEIGHT_MIN, CODE_HEIGHT = 138, 268
"""Height of 7 lines in a low window, and of the Java program, 15 lines."""


class CheckLine(QWidget):
    """One step: a glyph, its text, and its state."""

    def __init__(self, theme: ThemeManager) -> None:
        super().__init__()
        self._glyph = IconLabel(theme, "circle-dashed", "text_3", 17)
        self._text = label()
        self._fact = label(role="caption")
        self.setLayout(row(self._glyph, self._text, 1, self._fact, spacing=9))
        self.done = False
        """Whether the step is ticked."""

    @property
    def fact(self) -> str:
        """The text at its right end."""
        return self._fact.text()

    def set(self, text: str, fact: str, *, done: bool) -> None:
        """Show the state of the step."""
        self.done = done
        self._text.setText(text)
        self._fact.setText(fact)
        self._glyph.set_glyph("check-circle" if done else "circle-dashed", "healthy" if done else "text_3", filled=done)


class ConnectCard(Panel):
    """Card for the user's own client.

    Signals:
        topic_wanted: Show the stored message; carries the topic.
    """

    topic_wanted = Signal(str)

    def __init__(self, theme: ThemeManager) -> None:
        super().__init__()
        self._theme = theme
        self._address = ""
        self._steps: FirstSteps | None = None
        self._title = said_label("Connect your own client", "card-title")
        self._tabs = PartBar()
        self._tabs.setDrawBase(False)
        self._tabs.setExpanding(False)
        for sample in SAMPLES:
            self._tabs.addTab(sample.title)
        self._tabs.currentChanged.connect(self._show_code)
        self.code_view = said(CodeView(theme), name="Sample code")
        self.code_view.setFixedHeight(CODE_HEIGHT)
        self.copy_button = IconButton(theme, "copy", " ", on_click=self.copy)
        self._waiting = label(role="caption")
        self._show = said_button(theme, "arrow-right", "Show it", role="link", on_click=self._show_clicked)
        self.accepts = CheckLine(theme)
        self.connects = CheckLine(theme)
        self.stores = CheckLine(theme)
        self._forget_copied = QTimer(self)
        self._forget_copied.setSingleShot(True)
        self._forget_copied.setInterval(COPIED_SHOWN_MS)
        self._forget_copied.timeout.connect(self._show_copy)
        self.content.setContentsMargins(18, 14, 18, 14)
        self.content.setSpacing(8)
        fill(self.content, row(IconLabel(self._theme, "terminal-window", "accent", 18), self._title, 1, spacing=10), self._tabs)
        inset = QFrame()
        inset.setProperty("role", "inset")
        inset.setLayout(column(self.code_view, margins=(1, 1, 1, 1)))
        fill(
            self.content,
            (inset, 1),
            row(self.copy_button, 1, self._waiting, self._show),
            Line(),
            self.accepts,
            self.connects,
            self.stores,
        )
        on_language(self, self._write_texts)

    @property
    def sample(self) -> CodeSample:
        """The chosen program."""
        return SAMPLES[self._tabs.currentIndex()]

    def choose_sample(self, title: str) -> None:
        """Choose a program by its title, as the user would."""
        self._tabs.setCurrentIndex([sample.title for sample in SAMPLES].index(title))

    def set_address(self, address: str) -> None:
        """Fill ``host:port`` of the name server into the programs."""
        if address != self._address:
            self._address = address
            self._show_code()

    @property
    def code_height(self) -> int:
        """Height of the program, px."""
        return self.code_view.minimumHeight()

    def set_code_height(self, wanted: int) -> None:
        """Set the height of the program, px, within its bounds."""
        self.code_view.setFixedHeight(min(max(wanted, CODE_HEIGHT_MIN), CODE_HEIGHT))

    def set_steps(self, steps: FirstSteps) -> None:
        """Tick the finished steps."""
        if steps != self._steps:
            self._steps = steps
            self._show_steps()

    def copy(self) -> None:
        """Copy the shown program and confirm it for a moment."""
        QGuiApplication.clipboard().setText(self.sample.code(self._address))
        self.copy_button.setText(tr("Copied"))
        self.copy_button.set_glyph("check", "healthy")
        self._forget_copied.start()

    def _write_texts(self) -> None:
        self._show_copy()
        self._show_steps()

    def _show_code(self) -> None:
        self.code_view.set_code(self.sample.code(self._address).rstrip(), self.sample.language)

    def _show_copy(self) -> None:
        self.copy_button.setText(tr("Copy code"))
        self.copy_button.set_glyph("copy")

    def _show_clicked(self) -> None:
        if self._steps and self._steps.topic:
            self.topic_wanted.emit(self._steps.topic)

    def _show_steps(self) -> None:
        steps = self._steps
        not_yet = tr("not yet")
        accepts, stored = bool(steps and steps.accepts), steps.stored_messages if steps else 0
        connected = bool(steps and steps.connected)
        not_now = tr("not now") if connected else not_yet
        self.accepts.set(tr("Broker accepts connections"), self._address if accepts else not_now, done=accepts)
        here = steps is not None and steps.connections > 0
        now = tr("{count} connected", count=count_text(steps.connections)) if steps and here else not_now
        self.connects.set(tr("A client connects"), now, done=connected)
        self.stores.set(
            tr("A message is stored"), tr("{count} stored", count=count_text(stored)) if stored else not_yet, done=stored > 0
        )
        self._waiting.setText(
            tr("Stored in {topic}", topic=steps.topic) if steps and stored else tr("Waiting for the first message…")
        )
        set_role(self._waiting, "healthy" if stored else "caption")
        self._show.setVisible(stored > 0)

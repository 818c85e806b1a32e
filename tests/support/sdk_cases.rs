// The Rust SDK of RocketMQ 5 (plain text): prints "case NAME RESULT" for each thing that it tries.
use rocketmq::conf::{ClientOption, ProducerOption, SimpleConsumerOption};
use rocketmq::model::common::{FilterExpression, FilterType};
use rocketmq::model::message::{MessageBuilder, MessageView};
use rocketmq::model::transaction::{Transaction, TransactionResolution};
use rocketmq::{Producer, SimpleConsumer};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

fn client() -> ClientOption {
    let mut option = ClientOption::default();
    option.set_access_url(std::env::args().nth(1).expect("an address"));
    option.set_enable_tls(false);
    option
}

fn topics(names: Vec<&str>) -> ProducerOption {
    let mut option = ProducerOption::default();
    option.set_topics(names);
    option
}

async fn consumer(group: &str, topic: &str) -> SimpleConsumer {
    let mut option = SimpleConsumerOption::default();
    option.set_consumer_group(group);
    option.set_topics(vec![topic]);
    let mut made = SimpleConsumer::new(option, client()).unwrap();
    made.start().await.unwrap();
    made
}

async fn receive(from: &SimpleConsumer, topic: &str, count: usize) -> Vec<MessageView> {
    let mut found = vec![];
    let end = Instant::now() + Duration::from_secs(100);
    while found.len() < count && Instant::now() < end {
        for view in from.receive(topic, &FilterExpression::new(FilterType::Tag, "*")).await.unwrap() {
            from.ack(&view).await.unwrap();
            found.push(view);
        }
    }
    found
}

fn bodies(views: &[MessageView]) -> Vec<String> {
    views.iter().map(|view| String::from_utf8_lossy(view.body()).into_owned()).collect()
}

fn sorted(views: &[MessageView]) -> String {
    let mut found = bodies(views);
    found.sort();
    found.join(",")
}

fn seconds() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() as i64
}

async fn simple(producer: &Producer) {
    let source = consumer("sdk-rust-simple", "sdk-rust").await;
    let properties = std::collections::HashMap::from([("color", "red")]);
    let one = MessageBuilder::builder().set_topic("sdk-rust").set_body(b"one".to_vec()).set_tag("T")
        .set_keys(vec!["k1", "k2"]).set_properties(properties).build().unwrap();
    producer.send(one).await.unwrap();
    producer.send(MessageBuilder::builder().set_topic("sdk-rust").set_body(b"two".to_vec()).build().unwrap()).await.unwrap();
    let views = receive(&source, "sdk-rust", 2).await;
    println!("case simple {}", sorted(&views));
    let found = views.iter().find(|view| view.body() == b"one").unwrap();
    println!("case fields {} {} {}", found.tag().unwrap(), found.keys().len(), found.properties()["color"]);
    source.shutdown().await.unwrap();
}

async fn fifo(producer: &Producer) {
    let source = consumer("sdk-rust-ordered", "sdk-rust-fifo").await;
    for number in 0..8 {
        let body = number.to_string().into_bytes();
        producer.send(MessageBuilder::fifo_message_builder("sdk-rust-fifo", body, "g").build().unwrap()).await.unwrap();
    }
    println!("case fifo {}", bodies(&receive(&source, "sdk-rust-fifo", 8).await).join(","));
    source.shutdown().await.unwrap();
}

async fn delay(producer: &Producer) {
    let source = consumer("sdk-rust-delayed", "sdk-rust-delay").await;
    let due = seconds() + 3;
    let late = MessageBuilder::delay_message_builder("sdk-rust-delay", b"late".to_vec(), due).build().unwrap();
    producer.send(late).await.unwrap();
    println!("case delay {} {}", sorted(&receive(&source, "sdk-rust-delay", 1).await), seconds() >= due);
    source.shutdown().await.unwrap();
}

async fn transactions() {
    let checker = Box::new(|_: String, _: MessageView| TransactionResolution::COMMIT);
    let mut producer = Producer::new_transaction_producer(topics(vec!["sdk-rust-tx"]), client(), checker).unwrap();
    producer.start().await.unwrap();
    let source = consumer("sdk-rust-tx-group", "sdk-rust-tx").await;
    for body in ["commit", "roll-back", "orphan"] {
        let half = MessageBuilder::transaction_message_builder("sdk-rust-tx", body.as_bytes().to_vec()).build().unwrap();
        let transaction = producer.send_transaction_message(half).await.unwrap();
        match body {
            "commit" => transaction.commit().await.unwrap(),
            "roll-back" => transaction.rollback().await.unwrap(),
            _ => (),
        };
    }
    println!("case transactions {}", sorted(&receive(&source, "sdk-rust-tx", 2).await));
    source.shutdown().await.unwrap();
    producer.shutdown().await.unwrap();
}

#[tokio::main]
async fn main() {
    let mut producer = Producer::new(topics(vec!["sdk-rust", "sdk-rust-fifo", "sdk-rust-delay"]), client()).unwrap();
    producer.start().await.unwrap();
    simple(&producer).await;
    fifo(&producer).await;
    delay(&producer).await;
    producer.shutdown().await.unwrap();
    transactions().await;
}

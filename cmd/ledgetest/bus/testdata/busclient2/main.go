// Busclient2 publishes on the message bus with the client of EdgeX 2.3, and prints what it receives.
//
// It takes a port, nats-core, nats-jetstream, redis or mqtt, nats or json, a user and a password, the file of a CA, and a topic.
// Each line of its input is the payload of a message. It prints "ready" when it has subscribed, "published" after each message, and
// "received TOPIC" for each that it gets.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/edgexfoundry/go-mod-messaging/v2/messaging"
	"github.com/edgexfoundry/go-mod-messaging/v2/pkg/types"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	port, kind, format, user, password, ca, topic := args[0], args[1], args[2], args[3], args[4], args[5], args[6]
	n, err := strconv.Atoi(port)
	if err != nil {
		return err
	}
	options := map[string]string{
		"ClientId": "busclient2", "Format": format, "RetryOnFailedConnect": "false", "AutoProvision": "true", "Deliver": "new",
		"DefaultPubRetryAttempts": "2", "Subject": "edgex/#", "ConnectTimeout": "10", "Qos": "0", "KeepAlive": "10", "AutoReconnect": "true",
	}
	host := types.HostInfo{Host: "127.0.0.1", Port: n, Protocol: "tcp"}
	if kind == "redis" {
		host.Protocol = "redis"
	}
	if ca != "" {
		host.Protocol = "tls"
		options["Username"], options["Password"], options["CaFile"] = user, password, ca
	}
	client, err := messaging.NewMessageClient(types.MessageBusConfig{PublishHost: host, SubscribeHost: host, Type: kind, Optional: options})
	if err != nil {
		return err
	}
	if err := client.Connect(); err != nil {
		return err
	}
	messages, failed := make(chan types.MessageEnvelope, 100), make(chan error, 100)
	if err := client.Subscribe([]types.TopicChannel{{Topic: "edgex/events/#", Messages: messages}}, failed); err != nil {
		return err
	}
	go func() {
		for m := range messages {
			fmt.Println("received", m.ReceivedTopic)
		}
	}()
	go func() {
		for err := range failed {
			fmt.Println("failed:", err)
		}
	}()
	return publish(client, topic)
}

// publish publishes each line of the input.
func publish(client messaging.MessageClient, topic string) error {
	fmt.Println("ready")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		ctx := context.WithValue(context.WithValue(context.Background(), "X-Correlation-ID", "c-2"), "Content-Type", "application/json") //nolint
		if err := client.Publish(types.NewMessageEnvelope(lines.Bytes(), ctx), topic); err != nil {
			return err
		}
		fmt.Println("published")
	}
	return client.Disconnect()
}

// Busclient4 publishes on the message bus with the clients of EdgeX 3.1 and 4.0, and prints what it receives.
//
// It takes a version, 3 or 4, and then what busclient2 takes: a port, nats-core, nats-jetstream, mqtt or, for 3, redis, nats or json, a
// user and a password, the file of a CA, and a topic. Each line of its input is the payload of a message. It prints "ready" when it has
// subscribed, "published" after each message, and "received TOPIC" for each that it gets.
// It decodes events of core-data and system events with the DTOs of EdgeX, and prints "event" or "system TYPE ACTION OWNER" with the JSON of
// the DTO.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"

	common3 "github.com/edgexfoundry/go-mod-core-contracts/v3/common"
	dtos3 "github.com/edgexfoundry/go-mod-core-contracts/v3/dtos"
	requests3 "github.com/edgexfoundry/go-mod-core-contracts/v3/dtos/requests"
	common4 "github.com/edgexfoundry/go-mod-core-contracts/v4/common"
	dtos4 "github.com/edgexfoundry/go-mod-core-contracts/v4/dtos"
	requests4 "github.com/edgexfoundry/go-mod-core-contracts/v4/dtos/requests"
	messaging3 "github.com/edgexfoundry/go-mod-messaging/v3/messaging"
	types3 "github.com/edgexfoundry/go-mod-messaging/v3/pkg/types"
	messaging4 "github.com/edgexfoundry/go-mod-messaging/v4/messaging"
	types4 "github.com/edgexfoundry/go-mod-messaging/v4/pkg/types"
	"github.com/fxamacker/cbor/v2"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	port, kind, format, user, password, ca, topic := args[1], args[2], args[3], args[4], args[5], args[6], args[7]
	n, err := strconv.Atoi(port)
	if err != nil {
		return err
	}
	options := map[string]string{
		"ClientId": "busclient" + args[0], "Format": format, "RetryOnFailedConnect": "false", "AutoProvision": "true", "Deliver": "new",
		"DefaultPubRetryAttempts": "2", "Subject": "edgex/#", "ConnectTimeout": "10", "Qos": "0", "KeepAlive": "10", "AutoReconnect": "true",
	}
	protocol := "tcp"
	if kind == "redis" {
		protocol = "redis"
	}
	if ca != "" {
		protocol = "tls"
		options["Username"], options["Password"], options["CaFile"] = user, password, ca
	}
	open := open4
	if args[0] == "3" {
		open = open3
	}
	publish, err := open(protocol, n, kind, options)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		ctx := context.WithValue(context.WithValue(context.Background(), "X-Correlation-ID", "c-"+args[0]), "Content-Type", "application/json") //nolint
		if err := publish(ctx, lines.Bytes(), topic); err != nil {
			return err
		}
		fmt.Println("published")
	}
	return nil
}

type publisher func(ctx context.Context, payload []byte, topic string) error

func open3(protocol string, port int, kind string, options map[string]string) (publisher, error) {
	broker := types3.HostInfo{Host: "127.0.0.1", Port: port, Protocol: protocol}
	client, err := messaging3.NewMessageClient(types3.MessageBusConfig{Broker: broker, Type: kind, Optional: options})
	if err != nil {
		return nil, err
	}
	if err := client.Connect(); err != nil {
		return nil, err
	}
	messages, failed := make(chan types3.MessageEnvelope, 100), make(chan error, 100)
	topics := []types3.TopicChannel{{Topic: "edgex/events/#", Messages: messages}, {Topic: "edgex/system-events/#", Messages: messages}}
	if err := client.Subscribe(topics, failed); err != nil {
		return nil, err
	}
	go printErrors(failed)
	go func() {
		for m := range messages {
			fmt.Println("received", m.ReceivedTopic)
			printResult(decode3(m))
		}
	}()
	return func(ctx context.Context, payload []byte, topic string) error {
		return client.Publish(types3.NewMessageEnvelope(payload, ctx), topic)
	}, nil
}

func open4(protocol string, port int, kind string, options map[string]string) (publisher, error) {
	broker := types4.HostInfo{Host: "127.0.0.1", Port: port, Protocol: protocol}
	client, err := messaging4.NewMessageClient(types4.MessageBusConfig{Broker: broker, Type: kind, Optional: options})
	if err != nil {
		return nil, err
	}
	if err := client.Connect(); err != nil {
		return nil, err
	}
	messages, failed := make(chan types4.MessageEnvelope, 100), make(chan error, 100)
	topics := []types4.TopicChannel{{Topic: "edgex/events/#", Messages: messages}, {Topic: "edgex/system-events/#", Messages: messages}}
	if err := client.Subscribe(topics, failed); err != nil {
		return nil, err
	}
	go printErrors(failed)
	go func() {
		for m := range messages {
			fmt.Println("received", m.ReceivedTopic)
			printResult(decode4(m))
		}
	}()
	return func(ctx context.Context, payload []byte, topic string) error {
		return client.Publish(types4.NewMessageEnvelope(json.RawMessage(payload), ctx), topic)
	}, nil
}

func printErrors(failed <-chan error) {
	for err := range failed {
		fmt.Println("failed:", err)
	}
}

// printResult prints a decoded message, unless it is nil.
func printResult(what string, decoded any, err error) {
	if err != nil {
		fmt.Println("failed:", err)
	} else if decoded != nil {
		text, err := json.Marshal(decoded)
		fmt.Println(what, string(text), err)
	}
}

func decode3(m types3.MessageEnvelope) (what string, decoded any, err error) {
	switch {
	case strings.HasPrefix(m.ReceivedTopic, "edgex/events/core/"):
		decode, r := json.Unmarshal, requests3.AddEventRequest{}
		if m.ContentType == common3.ContentTypeCBOR {
			decode = cbor.Unmarshal
		}
		err = decode(m.Payload, &r) // validates it
		return "event", r, err
	case strings.HasPrefix(m.ReceivedTopic, "edgex/system-events/"):
		var e dtos3.SystemEvent
		if err := json.Unmarshal(m.Payload, &e); err != nil {
			return "", nil, err
		}
		details := map[string]any{
			common3.DeviceSystemEventType: &dtos3.Device{}, common3.DeviceProfileSystemEventType: &dtos3.DeviceProfile{},
			common3.DeviceServiceSystemEventType: &dtos3.DeviceService{}, common3.ProvisionWatcherSystemEventType: &dtos3.ProvisionWatcher{},
		}[e.Type]
		if err = e.DecodeDetails(details); err == nil {
			err = common3.Validate(details)
		}
		return fmt.Sprint("system ", e.Type, " ", e.Action, " ", e.Owner), details, err
	}
	return "", nil, nil
}

func decode4(m types4.MessageEnvelope) (what string, decoded any, err error) {
	switch {
	case strings.HasPrefix(m.ReceivedTopic, "edgex/events/core/"):
		r, err := types4.GetMsgPayload[requests4.AddEventRequest](m) // validates it
		return "event", r, err
	case strings.HasPrefix(m.ReceivedTopic, "edgex/system-events/"):
		e, err := types4.GetMsgPayload[dtos4.SystemEvent](m)
		if err != nil {
			return "", nil, err
		}
		details := map[string]any{
			common4.DeviceSystemEventType: &dtos4.Device{}, common4.DeviceProfileSystemEventType: &dtos4.DeviceProfile{},
			common4.DeviceServiceSystemEventType: &dtos4.DeviceService{}, common4.ProvisionWatcherSystemEventType: &dtos4.ProvisionWatcher{},
		}[e.Type]
		if err = e.DecodeDetails(details); err == nil {
			err = common4.Validate(details)
		}
		return fmt.Sprint("system ", e.Type, " ", e.Action, " ", e.Owner), details, err
	}
	return "", nil, nil
}

// Systemevents prints each change of a device as EdgeX 2.3's core-metadata would publish it: the topic, then the system event as JSON.
//
// An update on the log has only what changed. So the program first folds the devices from the events that Ledge keeps a copy of, without
// printing, and then applies each change to the device that it knows. It asks core-metadata for a device that it does not know whole.
//
// usage: go run ./docs/tour/systemevents [nats://127.0.0.1:4222 [http://127.0.0.1:59881]]
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// systemEvent is EdgeX 2.3's, in its order of fields.
type systemEvent struct {
	APIVersion string            `json:"apiVersion"`
	Type       string            `json:"type"`
	Action     string            `json:"action"`
	Source     string            `json:"source"`
	Owner      any               `json:"owner"`
	Tags       map[string]string `json:"tags"`
	Details    object            `json:"details"`
	Timestamp  int64             `json:"timestamp"`
}

func main() {
	url, metadata := nats.DefaultURL, "http://127.0.0.1:59881"
	if len(os.Args) > 1 {
		url = os.Args[1]
	}
	if len(os.Args) > 2 {
		metadata = os.Args[2]
	}
	log.Fatal(run(url, metadata))
}

// run prints until the connection is closed, and returns the reason. The consumer survives restarts of Ledge.
func run(url, metadata string) error {
	conn, err := nats.Connect(url, nats.MaxReconnects(-1))
	if err != nil {
		return err
	}
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	ctx := context.Background()
	stream, err := js.Stream(ctx, "LEDGE_EVENTS")
	if err != nil {
		return err
	}
	consumer, err := stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{FilterSubjects: []string{"ledge.event.device.>"}})
	if err != nil {
		return err
	}
	messages, err := consumer.Messages(jetstream.PullMaxBytes(2 << 20)) // Ledge cuts off a client for which 8 MiB wait
	if err != nil {
		return err
	}
	last, known := stream.CachedInfo().State.LastSeq, newDevices(metadata)
	log.Print("listening on ", url)
	for {
		m, err := messages.Next()
		if err != nil {
			return err
		}
		meta, err := m.Metadata()
		if err == nil {
			err = known.take(m, meta.Sequence.Stream > last)
		}
		if err != nil {
			log.Printf("%s: %v", m.Subject(), err)
		}
	}
}

// take folds a message, and prints it.
func (d *devices) take(m jetstream.Msg, show bool) error {
	name := strings.Split(m.Subject(), ".")[3]
	device, action, err := d.fold(name, m.Headers().Get("ce-type"), m.Data())
	if err != nil || !show {
		return err
	}
	at, err := time.Parse(time.RFC3339Nano, m.Headers().Get("ce-time"))
	if err != nil {
		return err
	}
	text, err := json.Marshal(systemEvent{
		APIVersion: "v2", Type: "device", Action: action, Source: "core-metadata",
		Owner: device["serviceName"], Details: device, Timestamp: at.UnixNano(),
	})
	fmt.Printf("edgex/system-events/core-metadata/device/%s/%s/%s %s\n", action, device["serviceName"], device["profileName"], text)
	return err
}

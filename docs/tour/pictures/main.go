// Pictures saves every picture that is posted as <folder>/<device>/<reading's id>.<kind>: first those on record, then each as it comes.
// Ledge keeps the place to continue from, as the durable consumer "pictures", through restarts of this program and of Ledge.
//
// usage: go run ./docs/tour/pictures folder [nats://127.0.0.1:4222 [http://127.0.0.1:59880]]
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

type consumer struct{ folder, data string }

func main() {
	if len(os.Args) < 2 {
		log.Fatal("usage: pictures folder [nats://127.0.0.1:4222 [http://127.0.0.1:59880]]")
	}
	c, url := consumer{os.Args[1], "http://127.0.0.1:59880"}, nats.DefaultURL
	if len(os.Args) > 2 {
		url = os.Args[2]
	}
	if len(os.Args) > 3 {
		c.data = os.Args[3]
	}
	if err := os.MkdirAll(c.folder, 0o755); err != nil {
		log.Fatal(err)
	}
	conn, err := nats.Connect(url, nats.MaxReconnects(-1), nats.RetryOnFailedConnect(true))
	if err != nil {
		log.Fatal(err)
	}
	js, err := jetstream.New(conn)
	if err != nil {
		log.Fatal(err)
	}
	again := time.NewTicker(time.Second)
	for ; ; <-again.C {
		log.Printf("%v; trying again", c.follow(js))
	}
}

// follow saves what the consumer gives, until something fails. The consumer is made if it is not there.
func (c consumer) follow(js jetstream.JetStream) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	config := jetstream.ConsumerConfig{Durable: "pictures", AckPolicy: jetstream.AckExplicitPolicy}
	durable, err := js.CreateOrUpdateConsumer(ctx, "LEDGE_READINGS", config)
	if err != nil {
		return err
	}
	messages, err := durable.Messages(jetstream.PullMaxBytes(2 << 20)) // Ledge cuts off a client for which 8 MiB wait
	if err != nil {
		return err
	}
	defer messages.Stop()
	log.Print("listening")
	for {
		m, err := messages.Next()
		if err != nil {
			return err
		}
		answer := m.Ack // after saving: if this program ends before, the message comes again
		if err := c.take(m); err != nil {
			log.Printf("%s: %v; trying again", m.Subject(), err)
			answer = func() error { return m.NakWithDelay(time.Second) }
		}
		if err := answer(); err != nil {
			return err
		}
	}
}

func (c consumer) take(m jetstream.Msg) error {
	all, err := pictures(m)
	if err != nil {
		return err
	}
	for _, p := range all {
		if err := c.save(p); err != nil {
			return err
		}
	}
	return nil
}

// pictures are the values of a message, as event.added/1 has them. Ref is the path of a large one at core-data.
func pictures(m jetstream.Msg) ([]picture, error) {
	header := m.Headers()
	switch header.Get("ce-type") {
	case "reading.posted/1":
		size, err := strconv.ParseInt(header.Get("ce-size"), 10, 64)
		subject := strings.Split(header.Get("ce-subject"), "/") // profile, device, resource
		return []picture{{
			ID: header.Get("ce-readingid"), Device: subject[1], MediaType: header.Get("content-type"), Size: size,
			Data: m.Data(), Digest: header.Get("ce-digest"), Ref: header.Get("ce-dataref"),
		}}, err
	case "event.added/1":
		if header.Get("ce-digest") != "" { // Ledge leaves out more than 512 KiB
			log.Printf("%s: an event of %s bytes is only at core-data: %s", m.Subject(), header.Get("ce-size"), header.Get("ce-dataref"))
			return nil, nil
		}
		var event struct{ Readings []picture }
		err := json.Unmarshal(m.Data(), &event)
		for i, p := range event.Readings {
			event.Readings[i].Ref = "/api/v2/reading/id/" + p.ID + "/binary"
		}
		return event.Readings, err
	}
	return nil, nil
}

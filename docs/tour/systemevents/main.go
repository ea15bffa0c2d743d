// Systemevents prints each change of a device as EdgeX 2.3's core-metadata would publish it: the topic, then the system
// event as JSON.
//
// An update on the log has only what changed. So the program first folds the devices from history, without printing, and
// then applies each change to the device that it knows.
//
// usage: go run ./docs/tour/systemevents [nats://127.0.0.1:4222]
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
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

const wait = 10 * time.Second

func main() {
	url := nats.DefaultURL
	if len(os.Args) > 1 {
		url = os.Args[1]
	}
	log.Fatal(run(url))
}

// run prints for ever, and returns only why it cannot.
func run(url string) error {
	live, err := nats.Connect(url, nats.MaxReconnects(-1))
	if err != nil {
		return err
	}
	history, err := nats.Connect(url, nats.MaxReconnects(-1), nats.UserInfo("history", "history"))
	if err != nil {
		return err
	}
	sub, err := live.SubscribeSync("ledge.event.device.>") // first of all: what happens from now on is not missed
	if err != nil {
		return err
	}
	if err := live.FlushTimeout(wait); err != nil {
		return err
	}
	f := follower{history: history, devices: devices{}}
	last, err := f.end()
	if err == nil {
		err = f.catchUp(last, false)
	}
	if err != nil {
		return err
	}
	log.Print("listening on ", url)
	for { // a live message says that there is more; history has it, with what live may have left out
		m, err := sub.NextMsg(24 * time.Hour)
		if err == nil {
			err = f.catchUp(sequence(m), true)
		}
		if err != nil {
			log.Print(err)
		}
	}
}

// follower reads the changes of devices from history, in order.
type follower struct {
	history *nats.Conn
	devices devices
	seen    uint64
}

// end is the last sequence of the changes that is on disk and visible.
func (f *follower) end() (uint64, error) {
	m, err := f.history.Request("ledge.info", nil, wait)
	if err != nil {
		return 0, err
	}
	var streams map[string]struct{ Last uint64 }
	err = json.Unmarshal(m.Data, &streams)
	return streams["LEDGE_EVENTS"].Last, err
}

// catchUp takes what is missing up to a sequence, in batches.
func (f *follower) catchUp(to uint64, print bool) error {
	sub, err := f.history.SubscribeSync(nats.NewInbox())
	if err != nil {
		return err
	}
	defer func() { _ = sub.Unsubscribe() }()
	for f.seen < to {
		from := fmt.Appendf(nil, `{"seq":%d,"next_by_subj":"ledge.event.device.>","batch":1000}`, f.seen+1)
		if err := f.history.PublishRequest("$JS.API.DIRECT.GET.LEDGE_EVENTS", sub.Subject, from); err != nil {
			return err
		}
		if err := f.batch(sub, to, print); err != nil {
			return err
		}
	}
	return nil
}

// batch takes one batch: messages, and then a status.
func (f *follower) batch(sub *nats.Subscription, to uint64, print bool) error {
	for {
		m, err := sub.NextMsg(wait)
		if err != nil {
			return err
		}
		switch m.Header.Get("Status") {
		case "":
		case "204":
			if m.Header.Get("Nats-Num-Pending") == "0" {
				f.seen = max(f.seen, to)
			}
			return nil
		case "404":
			f.seen = to
			return nil
		default:
			return fmt.Errorf("history: %s", m.Header.Get("Description"))
		}
		f.seen = sequence(m)
		if err := f.take(m, print); err != nil {
			return fmt.Errorf("sequence %d: %w", f.seen, err)
		}
	}
}

func sequence(m *nats.Msg) uint64 {
	n, _ := strconv.ParseUint(m.Header.Get("Nats-Sequence"), 10, 64)
	return n
}

// take folds a message, and prints it.
func (f *follower) take(m *nats.Msg, print bool) error {
	device, action, err := f.devices.fold(m.Header.Get("Nats-Subject"), m.Header.Get("ce-type"), m.Data)
	if err != nil || !print {
		return err
	}
	at, err := time.Parse(time.RFC3339Nano, m.Header.Get("ce-time"))
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

// Systemevents prints each change of a device as EdgeX 2.3's core-metadata would publish it: the topic, then the system
// event as JSON.
//
// usage: go run ./docs/tour/systemevents [nats://127.0.0.1:4222]
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/nats-io/nats.go"
)

// systemEvent is EdgeX 2.3's, in its order of fields.
type systemEvent struct {
	APIVersion string            `json:"apiVersion"`
	Type       string            `json:"type"`
	Action     string            `json:"action"`
	Source     string            `json:"source"`
	Owner      string            `json:"owner"`
	Tags       map[string]string `json:"tags"`
	Details    json.RawMessage   `json:"details"`
	Timestamp  int64             `json:"timestamp"`
}

// actions are EdgeX's words for Ledge's event types.
var actions = map[string]string{"device.added/1": "add", "device.updated/1": "update", "device.removed/1": "delete"}

func main() {
	url := nats.DefaultURL
	if len(os.Args) > 1 {
		url = os.Args[1]
	}
	nc, err := nats.Connect(url, nats.MaxReconnects(-1))
	if err != nil {
		log.Fatal(err)
	}
	if _, err := nc.Subscribe("ledge.event.device.>", show); err != nil {
		log.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		log.Fatal(err)
	}
	log.Print("listening on ", url)
	select {}
}

func show(m *nats.Msg) {
	topic, event, err := convert(m)
	if err != nil {
		log.Printf("%s: %v", m.Subject, err)
		return
	}
	text, _ := json.Marshal(event) // strings, numbers and JSON: cannot fail
	fmt.Printf("%s %s\n", topic, text)
}

// convert returns the topic and the system event of a message.
func convert(m *nats.Msg) (topic string, e systemEvent, err error) {
	var data struct{ Device json.RawMessage }
	var device struct{ ServiceName, ProfileName string }
	if err := json.Unmarshal(m.Data, &data); err != nil {
		return "", e, err
	}
	if err := json.Unmarshal(data.Device, &device); err != nil {
		return "", e, err
	}
	at, err := time.Parse(time.RFC3339Nano, m.Header.Get("ce-time"))
	if err != nil {
		return "", e, err
	}
	e = systemEvent{
		APIVersion: "v2", Type: "device", Action: actions[m.Header.Get("ce-type")], Source: "core-metadata",
		Owner: device.ServiceName, Details: data.Device, Timestamp: at.UnixNano(),
	}
	topic = fmt.Sprintf("edgex/system-events/%s/%s/%s/%s/%s", e.Source, e.Type, e.Action, e.Owner, device.ProfileName)
	return topic, e, nil
}

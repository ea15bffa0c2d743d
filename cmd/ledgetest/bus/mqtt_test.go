package bus

import (
	"encoding/base64"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	paho "github.com/eclipse/paho.mqtt.golang"
	"github.com/google/uuid"

	"ledge/cmd/ledgetest"
)

// mqttEvent is an event of a device in the envelope of EdgeX 3.1, as its clients publish it with MQTT.
func mqttEvent(id, device string, value int) string {
	return fmt.Sprintf(`{"apiVersion":"v3","receivedTopic":"","correlationID":"c","requestID":"","errorCode":0,"payload":%q,`+
		`"contentType":"application/json"}`, base64.StdEncoding.EncodeToString([]byte(edgexEvent(id, device, value))))
}

// startMQTT starts a node that listens for MQTT clients, and returns the port.
func startMQTT(t *testing.T) (*ledgetest.Node, string) {
	t.Helper()
	p := ledgetest.Start(t, t.TempDir(), "--edgex-bus", "mqtt:0")
	return p, portOf(readyAt(p, "mqtt"))
}

// TestMosquittoClients publishes events with mosquitto_pub in each quality of service. Core-data has them, and mosquitto_sub hears them.
func TestMosquittoClients(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("mosquitto_pub"); err != nil {
		t.Skip("mosquitto_pub is not installed: Debian's package mosquitto-clients")
	}
	p, port := startMQTT(t)
	sub := exec.Command("stdbuf", "-oL", // it writes each line at once
		"mosquitto_sub", "-p", port, "-t", "edgex/events/device/#", "-t", "edgex/+/b", "-F", "%t %q %p", "-C", "4", "-d")
	out := &ledgetest.Output{More: make(chan struct{}, 1)}
	sub.Stdout, sub.Stderr = out, out
	if err := sub.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sub.Process.Kill(); _ = sub.Wait() }()
	hears := func(text string) {
		t.Helper()
		ledgetest.Until(t, text+" of mosquitto_sub, which says "+out.String(), func() bool { _, ok := out.Find(text); return ok })
	}
	hears("Subscribed (mid: 1): 0, 0")
	const topic = "edgex/events/device/climate/core/hum"
	for qos := range 3 {
		id := uuid.NewString()
		text := mqttEvent(id, "core", qos)
		mustRun(t, p, false, "mosquitto_pub", "-p", port, "-q", fmt.Sprint(qos), "-t", topic, "-m", text)
		hears(topic + " 0 " + text)
		ledgetest.Until(t, "the event", func() bool { return hasEvent(p, id) })
	}
	mustRun(t, p, false, "mosquitto_pub", "-p", port, "-t", "edgex/a/b", "-m", "not an envelope")
	hears("edgex/a/b 0 not an envelope")
	mustRun(t, p, true, "mosquitto_pub", "-p", port, "-q", "1", "-t", "ledge/event/a", "-m", "x")
	mustRun(t, p, true, "mosquitto_pub", "-p", port, "-V", "mqttv5", "-t", "edgex/a", "-m", "x")
	for _, filter := range []string{"#", "ledge/event/#"} {
		if out := mustRun(t, p, false, "mosquitto_sub", "-p", port, "-t", filter); !strings.Contains(out, "denied") {
			t.Errorf("mosquitto_sub to %s says %s", filter, out)
		}
	}
}

// TestMQTTKilled kills Ledge after 1,000 events were acknowledged. Core-data has each once after the next start.
func TestMQTTKilled(t *testing.T) {
	t.Parallel()
	p, port := startMQTT(t)
	c := paho.NewClient(paho.NewClientOptions().AddBroker("tcp://127.0.0.1:" + port).SetClientID("killed").SetAutoReconnect(false))
	if done := c.Connect(); !done.WaitTimeout(ledgetest.Timeout) || done.Error() != nil {
		t.Fatal(done.Error())
	}
	defer c.Disconnect(0)
	ids := make([]string, 1000)
	for i := range ids {
		ids[i] = uuid.NewString()
		done := c.Publish("edgex/events/device/climate/core/hum", 1, false, mqttEvent(ids[i], "core", i))
		if !done.WaitTimeout(ledgetest.Timeout) || done.Error() != nil {
			t.Fatalf("event %d: %v", i, done.Error())
		}
	}
	p.Kill()
	p = ledgetest.Start(t, p.Dir)
	for _, id := range ids {
		ledgetest.Until(t, "event "+id, func() bool { return hasEvent(p, id) })
	}
	if n := p.CountEvents("core"); n != len(ids) {
		t.Errorf("core-data has %d events", n)
	}
}

package bus

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ledge/bridge/porttest"
	"ledge/cmd/ledgetest"
)

// edgexEvent is an AddEventRequest of EdgeX 2.3 with one reading.
func edgexEvent(id, device string, value int) string {
	return fmt.Sprintf(`{"apiVersion":"v2","requestId":%q,"event":{"apiVersion":"v2","id":%q,"deviceName":%q,`+
		`"profileName":"climate","sourceName":"hum","origin":1795771745179468565,"readings":[{"id":%q,"origin":1795771745179468567,`+
		`"deviceName":%q,"resourceName":"hum","profileName":"climate","valueType":"Int64","value":"%d"}]}}`,
		uuid.NewString(), id, device, uuid.NewString(), device, value)
}

// edgexMessage is a message as EdgeX 2.3 publishes it in the format nats.
func edgexMessage(id, device string, value int) *nats.Msg {
	return &nats.Msg{
		Subject: "edgex.events.device.climate." + device + ".hum",
		Header: nats.Header{
			"ApiVersion": {"v2"}, "Content-Type": {"application/json"}, "ErrorCode": {"0"}, "RequestId": {""},
			"X-Correlation-ID": {"c-" + device},
		},
		Data: []byte(edgexEvent(id, device, value)),
	}
}

// hasEvent reports whether core-data has an event.
func hasEvent(p *ledgetest.Node, id string) bool {
	p.TB.Helper()
	return p.Call(http.MethodGet, p.CoreData+"/api/v2/event/id/"+id, "", "").Status == http.StatusOK
}

// wantMetric waits until a line of core-data's metrics is there.
func wantMetric(t *testing.T, p *ledgetest.Node, line string) {
	t.Helper()
	ledgetest.Until(t, line, func() bool {
		return strings.Contains(p.Call(http.MethodGet, p.CoreData+"/metrics", "", "").Body, line+"\n")
	})
}

// TestEdgeXEvents publishes events as EdgeX's clients do, in core and in JetStream mode and in both formats. Core-data has each, exactly,
// and the log says that it came over the bus. Refused messages are counted.
func TestEdgeXEvents(t *testing.T) {
	t.Parallel()
	p := ledgetest.StartSeed(t)
	nc, js := ledgetest.MustJetStream(t, p.NATS)
	heard, err := nc.SubscribeSync("edgex.events.>")
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{uuid.NewString(), uuid.NewString(), uuid.NewString()}
	if err := nc.PublishMsg(edgexMessage(ids[0], "core", 1)); err != nil {
		t.Fatal(err)
	}
	stream := edgexMessage(ids[1], "stream", 2)
	if _, err := js.PublishMsg(t.Context(), stream); err != nil {
		t.Fatal(err)
	}
	whole := fmt.Sprintf(
		`{"apiVersion":"v3","receivedTopic":"","correlationID":"c-whole","requestID":"","errorCode":0,"payload":%s,`+
			`"contentType":"application/json"}`,
		strings.NewReplacer(`"v2"`, `"v3"`, `"value":"3"`, `"value":3`).Replace(edgexEvent(ids[2], "whole", 3)))
	if err := nc.Publish("edgex.events.device.device-virtual.climate.whole.hum", []byte(whole)); err != nil {
		t.Fatal(err)
	}
	for range ids {
		if _, err := heard.NextMsg(ledgetest.Timeout); err != nil {
			t.Fatal(err)
		}
	}
	for i, device := range []string{"core", "stream", "whole"} {
		ledgetest.Until(t, device, func() bool { return hasEvent(p, ids[i]) })
		a := p.Call(http.MethodGet, p.CoreData+"/api/v2/event/id/"+ids[i], "", "")
		for _, want := range []string{
			`"origin":1795771745179468565`, `"origin":1795771745179468567`,
			fmt.Sprintf(`"value":"%d"`, i+1), `"deviceName":"` + device + `"`,
		} {
			if !strings.Contains(a.Body, want) {
				t.Errorf("%s: %s is not in %s", device, want, a.Body)
			}
		}
	}
	came := map[string]bool{}
	for _, f := range ledgetest.Facts(t, p.Dir) {
		if f.Actor == "bus" && f.Origin == "nats:edgex" {
			came[f.Subject+" "+f.CorrelationID] = true
		}
	}
	for _, device := range []string{"core", "stream", "whole"} {
		if !came["ledge.reading.climate."+device+".hum c-"+device] {
			t.Errorf("%s is not in the log: %v", device, came)
		}
	}
	for range 2 {
		if _, err := js.PublishMsg(t.Context(), stream); err != nil { // again
			t.Fatal(err)
		}
	}
	wrong := edgexMessage(uuid.NewString(), "core", 4)
	wrong.Subject = "edgex.events.device.climate.other.hum"
	garbage := nc.Publish("edgex.events.device.climate.core.hum", []byte("garbage"))
	if err := nc.PublishMsg(wrong); err != nil || garbage != nil || nc.Flush() != nil {
		t.Fatal(err)
	}
	wantMetric(t, p, `ledge_edgex_events_total{result="recorded"} 3`)
	wantMetric(t, p, `ledge_edgex_events_total{result="repeated"} 2`)
	wantMetric(t, p, `ledge_edgex_refused_total{reason="invalid"} 1`)
	wantMetric(t, p, `ledge_edgex_refused_total{reason="envelope"} 1`)
	wantMetric(t, p, "ledge_edgex_waiting_messages 0")
	var count struct{ Count int }
	a := p.Call(http.MethodGet, p.CoreData+"/api/v2/event/count/device/name/stream", "", "")
	if err := json.Unmarshal([]byte(a.Body), &count); err != nil || count.Count != 1 {
		t.Errorf("%s", a.Body)
	}
}

// TestEdgeXKill kills Ledge in the midst of 5,000 events that a client publishes to the stream: each acknowledged one is on record, once.
func TestEdgeXKill(t *testing.T) {
	t.Parallel()
	const events, group, kills = 5000, 50, 3
	dir, port := t.TempDir(), strconv.Itoa(porttest.Hold(t))
	p := ledgetest.Start(t, dir, "--nats-port", port)
	_, js := ledgetest.MustJetStream(t, p.NATS, nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
	acknowledged := map[string]bool{}
	for i := 0; i < events; i += group {
		futures := map[string]jetstream.PubAckFuture{}
		for n := range group {
			id := uuid.NewString()
			future, err := js.PublishMsgAsync(edgexMessage(id, fmt.Sprint("d", n%7), i+n), jetstream.WithStallWait(ledgetest.Timeout))
			if err == nil {
				futures[id] = future
			}
		}
		if i%(events/kills) == events/kills/2/group*group {
			p.Kill()
			p = ledgetest.Start(t, dir, "--nats-port", port)
		}
		for id, future := range futures {
			select {
			case <-future.Ok():
				acknowledged[id] = true
			case <-future.Err():
			case <-time.After(ledgetest.Timeout):
				t.Fatal("no answer")
			}
		}
	}
	if len(acknowledged) < events/2 {
		t.Fatalf("only %d of %d events were acknowledged", len(acknowledged), events)
	}
	for id := range acknowledged {
		ledgetest.Until(t, "event "+id, func() bool { return hasEvent(p, id) })
	}
	times := map[string]int{}
	for _, f := range ledgetest.Facts(t, dir) {
		var e struct{ Event struct{ ID string } }
		if strings.HasPrefix(f.Subject, "ledge.reading.climate.") && json.Unmarshal(f.Data, &e) == nil {
			times[e.Event.ID]++
		}
	}
	for id, n := range times {
		if n != 1 {
			t.Errorf("event %s is on record %d times", id, n)
		}
	}
	if len(times) < len(acknowledged) || len(times) > events {
		t.Errorf("%d events are on record, and %d were acknowledged", len(times), len(acknowledged))
	}
}

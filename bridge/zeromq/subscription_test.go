package zeromq

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// 5: a PING is answered with a PONG that echoes its context, and frames that are no
// subscriptions do not keep later ones from being noticed.
func TestPing(t *testing.T) {
	p := MustListen(t, Options{})
	c := MustJoin(t, p, "topic")
	for _, context := range []string{"", "x", "sixteen bytes ok"} {
		c.send(rawFrame(4, "\x04PING\x00\x0a"+context))
		if flags, body := c.frame(); flags != 4 || body != "\x04PONG"+context {
			t.Errorf("PING %q: got frame %d %q", context, flags, body)
		}
	}
	for range 50 {
		c.send(rawFrame(0, "") + rawFrame(0, "\x02junk") + rawFrame(4, "\x04PONG") + rawFrame(4, "\x07UNKNOWN"))
		c.send(rawFrame(1, "\x01several") + rawFrame(1, "frames") + rawFrame(0, "\x01ignored"))
	}
	c.unsubscribe("topic")
	eventually(t, "unsubscription", func() bool { return len(p.Topics()) == 0 })
	c.Close()
	eventually(t, "leave", func() bool { return p.Subscribers() == 0 })
}

// 9: joins, subscriptions and leaves can be seen.
func TestEvents(t *testing.T) {
	var log logBuffer
	p := MustListen(t, Options{Logger: log.logger()})
	c := MustJoin(t, p, "topic")
	c.unsubscribe("topic")
	eventually(t, "unsubscription", func() bool { return len(p.Topics()) == 0 })
	c.Close()
	for _, want := range []string{
		"subscriber joined", "topic subscribed", "topic unsubscribed", "subscriber left",
		"remote=" + c.LocalAddr().String(), fmt.Sprint("port=", p.Port()),
	} {
		eventually(t, want, func() bool { return strings.Contains(log.String(), want) })
	}
}

// 9: a topic that was subscribed to twice must be cancelled twice, in either way of saying so.
func TestRefCounts(t *testing.T) {
	p := MustListen(t, Options{})
	c := MustJoin(t, p, "a", "a")
	c.send(rawFrame(4, "\x09SUBSCRIBEa") + rawFrame(4, "\x09SUBSCRIBEb"))
	eventually(t, "b", func() bool { return slices.Contains(p.Topics(), "b") })
	steps := []struct {
		send string
		want []string
	}{
		{rawFrame(0, "\x00a") + rawFrame(0, "\x01c"), []string{"a", "b", "c"}},
		{rawFrame(4, "\x06CANCELa") + rawFrame(0, "\x00c"), []string{"a", "b"}},
		{rawFrame(4, "\x06CANCELb") + rawFrame(0, "\x00unknown"), []string{"a"}},
		{rawFrame(4, "\x06CANCELa") + rawFrame(0, "\x01d"), []string{"d"}},
	}
	for i, step := range steps {
		c.send(step.send)
		eventually(t, fmt.Sprint("step ", i), func() bool { return reflect.DeepEqual(p.Topics(), step.want) })
	}
	MustPublish(t, p, "a", "not subscribed any more")
	MustPublish(t, p, "d", "subscribed")
	c.want("d", "subscribed")
}

// 9: topics are matched by prefix, also among thousands.
func TestManySubscriptions(t *testing.T) {
	p := MustListen(t, Options{})
	var topics []string
	for i := range 10_000 {
		topics = append(topics, fmt.Sprintf("device/%d/", i))
	}
	c := MustJoin(t, p, topics...)
	if got := len(p.Topics()); got != len(topics) {
		t.Fatalf("got %d topics, want %d", got, len(topics))
	}
	MustPublish(t, p, "device/10000/x", "not subscribed")
	MustPublish(t, p, "device/77", "not subscribed")
	MustPublish(t, p, "device/77/temperature", "subscribed")
	c.want("device/77/temperature", "subscribed")
}

func TestSubscriptions(t *testing.T) {
	s := newSubscriptions(Options{}.WithDefaults())
	for _, topic := range []string{"cam", "camera", "dev/1", "\xff\x00"} {
		s.add(topic)
	}
	s.remove("cam")
	for topic, want := range map[string]bool{
		"camera": true, "camera2": true, "cam": false, "came": false, "dev/1": true, "dev/12": true,
		"dev/2": false, "": false, "\xff\x00": true, "\xff": false,
	} {
		if got := s.match([]byte(topic)); got != want {
			t.Errorf("match %q: got %v, want %v", topic, got, want)
		}
	}
	for _, topic := range []string{"camera", "dev/1", "\xff\x00"} {
		s.remove(topic)
	}
	if s.bytes != 0 || len(s.refs)+len(s.lengths)+len(s.ofLen) != 0 {
		t.Errorf("something is left: %+v", s)
	}
}

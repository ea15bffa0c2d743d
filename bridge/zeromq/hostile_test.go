package zeromq

import (
	"runtime"
	"strings"
	"testing"
	"time"
)

const claim2to60 = "\x02\x10\x00\x00\x00\x00\x00\x00\x00"
const claim2GiB = "\x02\x00\x00\x00\x00\x80\x00\x00\x00"

// 1: a peer that lies about sizes, before or after its handshake, loses its own connection and
// nothing else.
func TestHostileFrameHeader(t *testing.T) {
	ready := rawGreeting(3, "NULL") + rawReady(subMeta)
	for name, bytes := range map[string]string{
		"2^60 before READY":           rawGreeting(3, "NULL") + claim2to60,
		"2^60 command before READY":   rawGreeting(3, "NULL") + "\x06" + claim2to60[1:],
		"2^63 before READY":           rawGreeting(3, "NULL") + "\x06\x80\x00\x00\x00\x00\x00\x00\x00",
		"2^60 after READY":            ready + claim2to60,
		"2^64-1 after READY":          ready + "\x02\xff\xff\xff\xff\xff\xff\xff\xff",
		"2 GiB after READY":           ready + claim2GiB,
		"one byte above the limit":    ready + "\x02\x00\x00\x00\x00\x00\x01\x00\x01",
		"reserved flags":              ready + "\x80\x01\x01",
		"command with more":           ready + "\x05\x01\x00",
		"empty command":               ready + "\x04\x00",
		"command shorter than name":   ready + "\x04\x02\x09P",
		"PING without time to live":   ready + "\x04\x06\x04PING\x00",
		"message before READY":        rawGreeting(3, "NULL") + "\x00\x01\x01",
		"HTTP":                        "GET / HTTP/1.1\r\nHost: example.org\r\n\r\n",
		"zeros":                       strings.Repeat("\x00", 100),
		"ones":                        strings.Repeat("\xff", 100),
		"READY with empty body":       rawGreeting(3, "NULL") + "\x04\x00",
		"PING before READY":           rawGreeting(3, "NULL") + "\x04\x07\x04PING\x00\x00",
		"READY without metadata":      rawGreeting(3, "NULL") + rawReady(""),
		"metadata: name only":         rawGreeting(3, "NULL") + rawReady("\x0bSocket-Type"),
		"metadata: short name":        rawGreeting(3, "NULL") + rawReady("\xffx"),
		"metadata: short value size":  rawGreeting(3, "NULL") + rawReady("\x01x\x00\x00"),
		"metadata: value of 4 GiB":    rawGreeting(3, "NULL") + rawReady("\x01x\xff\xff\xff\xff"),
		"metadata: one byte too long": rawGreeting(3, "NULL") + rawReady("\x0bSocket-Type\x00\x00\x00\x04SUB"),
	} {
		t.Run(name, func(t *testing.T) {
			p := MustListen(t, Options{})
			good := MustJoin(t, p, "")
			bad := dialPeer(t, p)
			bad.send(bytes)
			bad.wantEnd()
			MustPublish(t, p, "topic", "still here")
			good.want("topic", "still here")
		})
	}
}

// 1: peers that claim 2 GiB each cost no memory.
func TestHostileFramesTakeNoMemory(t *testing.T) {
	p := MustListen(t, Options{})
	before := allocated()
	for range 4 {
		c := dialPeer(t, p)
		c.send(rawGreeting(3, "NULL") + claim2GiB)
		c.wantEnd()
	}
	if grown := allocated() - before; grown > 64<<20 {
		t.Errorf("four hostile peers made the process allocate %d bytes", grown)
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// 1: subscriptions are bounded too.
func TestTooManySubscriptions(t *testing.T) {
	p := MustListen(t, Options{})
	c := MustJoin(t, p, "first")
	topic := strings.Repeat("x", 60000)
	c.SetWriteDeadline(time.Now().Add(hang))
	for i := range 2 * p.o.MaxTopicBytes / len(topic) {
		if _, err := c.Write([]byte(rawFrame(0, "\x01"+string(rune('a'+i))+topic))); err != nil {
			break
		}
	}
	c.wantEnd()
	eventually(t, "the peer is gone", func() bool { return p.Subscribers() == 0 })
}

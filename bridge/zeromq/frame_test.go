package zeromq

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
)

// FuzzFrame reads arbitrary bytes as a stream of frames: no panic, no body above the limit, and
// each frame is encoded again as it was read, but for sizes written longer than need be.
func FuzzFrame(f *testing.F) {
	for _, s := range []string{
		"", "\x00\x01\x01", "\x00\x04\x01cam", claim2to60, claim2GiB, rawReady(subMeta),
		rawFrame(4, "\x04PING\x00\x0acontext"), rawFrame(4, "\x09SUBSCRIBEcam"), rawFrame(1, "a") + rawFrame(0, strings.Repeat("b", 300)),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		const limit = 1000
		fr := &frameReader{r: bufio.NewReader(bytes.NewReader(data)), max: limit}
		for {
			fm, err := fr.next()
			if err != nil {
				return
			}
			if len(fm.body) > limit || cap(fr.buf) > limit {
				t.Fatalf("a body of %d bytes in a buffer of %d", len(fm.body), cap(fr.buf))
			}
			if !fm.command {
				continue
			}
			name, rest, err := parseCommand(fm.body)
			if err != nil {
				continue
			}
			if again := commandFrame(name, rest); !bytes.HasSuffix(again, fm.body) {
				t.Fatalf("command %q was encoded again as %q", fm.body, again)
			}
			if answer, err := pong(rest); err == nil && len(answer) > 2+5+maxPingContext {
				t.Fatalf("a PONG of %d bytes", len(answer))
			}
		}
	})
}

// collector is a sink that wants messages by topic.
type collector struct {
	prefix string
	wires  []string
	all    []message
}

func (c *collector) wants(audience uint64, topic []byte) bool {
	return audience == 7 && strings.HasPrefix(string(topic), c.prefix)
}

func (c *collector) message(m message) {
	if m.head != nil {
		c.wires = append(c.wires, string(m.head)+string(m.body))
	}
	c.all = append(c.all, m)
}

// However zmq4 cuts its writes, the same messages come out.
func TestAssemblerCuts(t *testing.T) {
	long := strings.Repeat("l", 300)
	tag, other := string(tagged(7, "")), string(tagged(8, ""))
	messages := []string{
		rawFrame(1, "cam") + rawFrame(0, "body"), rawFrame(1, "dev") + rawFrame(0, long),
		rawFrame(1, "") + rawFrame(0, ""), rawFrame(1, "camera") + rawFrame(0, ""), rawFrame(1, "cam"+long) + rawFrame(0, long),
		rawFrame(0, "fence"),
	}
	stream := rawGreeting(3, "NULL") + rawReady(subMeta)
	for _, m := range messages { // as zmq4 writes them: the audience is in front of the topic
		size := int(m[1])
		if m[0]&flagLong != 0 {
			size = int(binary.BigEndian.Uint64([]byte(m[1:])))
			m = m[7:]
		}
		stream += rawFrame(m[0]&^flagLong, tag+m[2:2+size]) + m[2+size:]
	}
	stream += rawFrame(1, other+"cam") + rawFrame(0, "of another audience")
	wires := []string{messages[0], messages[3], messages[4]}
	all := []message{{frames: 2, bytes: 7}, {frames: 2, bytes: 303}, {frames: 2}, {frames: 2, bytes: 6}, {frames: 2, bytes: 603}, {frames: 1, bytes: 5}, {frames: 2, bytes: 22}}
	for step := 1; step <= len(stream); step++ {
		got := &collector{prefix: "cam"}
		a := newAssembler(got)
		for part := range slices.Chunk([]byte(stream), step) {
			a.write(part)
		}
		if !slices.Equal(got.wires, wires) {
			t.Fatalf("cut every %d bytes: got %q, want %q", step, got.wires, wires)
		}
		for i, m := range got.all {
			if len(got.all) != len(all) || m.frames != all[i].frames || m.bytes != all[i].bytes {
				t.Fatalf("cut every %d bytes: got %+v, want %+v", step, got.all, all)
			}
		}
	}
}

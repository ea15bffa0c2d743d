package zeromq

import "encoding/binary"

// A sink receives the messages that zmq4 writes to one connection.
type sink interface {
	// wants is asked once for each message, with its audience and its topic.
	wants(audience uint64, topic []byte) bool
	// message is called at the end of each message, wanted or not.
	message(message)
}

// message is a whole message as it goes over the wire: first head, which is valid during the call
// only, then body, which all sinks of the message share and nobody changes.
type message struct {
	head   []byte // nil unless the sink wanted the message
	body   []byte
	frames int
	bytes  int // of all frames, without their headers and the audience
}

// assembler puts whole messages together from what zmq4 writes, however it cuts its writes. It
// swallows the greeting and all commands, which are zmq4's half of a handshake that the
// subscriber never sees, and takes off the audience in front of the first frame.
type assembler struct {
	sink     sink
	greeting int // bytes still to swallow
	header   [9]byte
	have     int // bytes of header present
	inBody   bool
	left     int // bytes of the frame's body to come
	tag      [tagBytes]byte
	tagLeft  int // bytes of the audience to come, which are not in left
	topic    int // where the first frame's body begins in wire
	keep     bool
	wire     []byte
	msg      message
}

func newAssembler(s sink) *assembler {
	return &assembler{sink: s, greeting: greetingBytes, keep: true}
}

func (a *assembler) write(p []byte) {
	n := min(a.greeting, len(p))
	a.greeting -= n
	p = p[n:]
	for len(p) > 0 {
		if a.inBody {
			p = p[a.takeBody(p):]
		} else {
			p = p[a.takeHeader(p):]
		}
	}
}

func (a *assembler) takeHeader(p []byte) int {
	if a.have == 0 {
		a.header[0] = p[0]
	}
	need := 2
	if a.header[0]&flagLong != 0 {
		need = 9
	}
	n := copy(a.header[a.have:need], p)
	if a.have += n; a.have == need {
		a.beginFrame()
	}
	return n
}

func (a *assembler) beginFrame() {
	a.left = int(a.header[1])
	if a.header[0]&flagLong != 0 {
		a.left = int(binary.BigEndian.Uint64(a.header[1:]))
	}
	if a.msg.frames == 0 {
		a.tagLeft = min(a.left, tagBytes)
		a.left -= a.tagLeft
	}
	if a.keep {
		a.wire = appendHeader(a.wire, a.header[0]&^flagLong, a.left)
	}
	if a.msg.frames == 0 {
		a.topic = len(a.wire)
	}
	a.msg.frames++
	a.msg.bytes += a.left
	if a.inBody = true; a.left+a.tagLeft == 0 {
		a.endFrame()
	}
}

// takeBody copies all but the end of a message's last frame. zmq4 writes a frame at once, so that
// this is the whole body as it was published.
func (a *assembler) takeBody(p []byte) int {
	if a.tagLeft > 0 {
		return a.takeTag(p)
	}
	n := min(a.left, len(p))
	if last := a.msg.frames > 1 && a.header[0]&(flagMore|flagCommand) == 0; a.keep && last && n == a.left {
		a.msg.body = p[:n:n]
	} else if a.keep {
		a.wire = append(a.wire, p[:n]...)
	}
	if a.left -= n; a.left == 0 {
		a.endFrame()
	}
	return n
}

func (a *assembler) takeTag(p []byte) int {
	n := copy(a.tag[tagBytes-a.tagLeft:], p)
	if a.tagLeft -= n; a.left+a.tagLeft == 0 {
		a.endFrame()
	}
	return n
}

func (a *assembler) endFrame() {
	a.inBody, a.have = false, 0
	if a.header[0]&flagCommand != 0 {
		a.reset()
		return
	}
	if a.msg.frames == 1 {
		a.keep = a.sink.wants(binary.BigEndian.Uint64(a.tag[:]), a.wire[a.topic:])
	}
	if a.header[0]&flagMore != 0 {
		return
	}
	m := a.msg
	if a.keep {
		m.head = a.wire
	}
	a.reset()
	a.sink.message(m)
}

func (a *assembler) reset() {
	a.msg, a.keep = message{}, true
	if cap(a.wire) > smallBlock {
		a.wire = nil
	}
	a.wire = a.wire[:0]
}

package delivery

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
)

// lossy is a way to the tap on which live messages of readings get lost.
type lossy struct {
	url  string
	lose atomic.Int64 // how many of the next
}

func newLossy(t *testing.T, tap string) *lossy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	way := &lossy{url: "nats://" + l.Addr().String()}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go way.carry(client, strings.TrimPrefix(tap, "nats://"))
		}
	}()
	return way
}

func (l *lossy) carry(client net.Conn, tap string) {
	defer client.Close()
	server, err := net.Dial("tcp", tap)
	if err != nil {
		return
	}
	go func() { _, _ = io.Copy(server, client); server.Close() }()
	in := bufio.NewReader(server)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		var rest []byte
		if words := strings.Fields(line); words[0] == "MSG" || words[0] == "HMSG" {
			var size int
			_, _ = fmt.Sscan(words[len(words)-1], &size)
			rest = make([]byte, size+len("\r\n"))
			if _, err := io.ReadFull(in, rest); err != nil {
				return
			}
			if strings.HasPrefix(words[1], "ledge.reading.") && l.lose.Load() > 0 {
				l.lose.Add(-1)
				continue
			}
		}
		if _, err := client.Write(append([]byte(line), rest...)); err != nil {
			return
		}
	}
}

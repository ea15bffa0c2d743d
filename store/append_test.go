package store

import (
	"testing"
	"time"
)

func TestSizeOfMessage(t *testing.T) {
	var l MessageBuffer
	for _, h := range []Header{{{"ce-id", "17"}, {"Ledge-Chain", "00"}}, {{"A", "1"}}} {
		for _, data := range []string{"", "body"} {
			if got, want := sizeOfMessage("a.b", h, []byte(data)), l.Of("a.b", h, []byte(data)).Size(); got != want {
				t.Errorf("%v and %q: got %d bytes, want %d", h, data, got, want)
			}
		}
	}
}

func TestIsToken(t *testing.T) {
	for s, want := range map[string]bool{
		"cam-1": true, "A_z~9:;=": true, "": false, "a b": false, "a.b": false, "*": false, "é": false, "[": false, "@": false, "`": false, "{": false,
	} {
		if got := isToken(s); got != want {
			t.Errorf("%q: got %t", s, got)
		}
	}
}

// The server's acknowledgements are in the form that is known without decoding them.
func TestIsAck(t *testing.T) {
	s, err := Open(t.Context(), Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	l := s.Events()
	ack, err := s.node.write.Request(l.ingest+"device.cam-1.added", nil, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if !isAck(ack.Data, l.name, 1) {
		t.Errorf("the acknowledgement %s is not as expected", ack.Data)
	}
	if isAck(ack.Data, l.name, 2) || isAck(ack.Data, "other", 1) {
		t.Errorf("%s passes for that of another event", ack.Data)
	}
}

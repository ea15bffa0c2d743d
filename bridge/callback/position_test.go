package callback

import (
	"maps"
	"testing"
)

// Only what is certain is recorded: until the follower is again where the record is, nobody knows what still waits.
func TestWhere(t *testing.T) {
	c := New(Options{})
	c.position.upTo, c.position.behind, c.position.moved = 10, map[string]uint64{"slow": 4, "back": 5}, true
	c.services["slow"] = &service{name: "slow", waiting: []due{{seq: 8}, {seq: 12}}}
	c.services["back"] = &service{name: "back"}
	c.followed = 9
	if command, ok := c.where(false); ok {
		t.Errorf("recorded %+v while behind the record", command)
	}
	c.followed = 13
	command, ok := c.where(false)
	if want := map[string]uint64{"slow": 7, "back": 0}; !ok || command.UpTo != 13 || !maps.Equal(command.Behind, want) {
		t.Fatalf("got %+v, %t, want up to 13 and %v", command, ok, want)
	}
	c.position.recorded(command)
	if want := map[string]uint64{"slow": 7}; !maps.Equal(c.position.behind, want) {
		t.Errorf("behind: got %v, want %v", c.position.behind, want)
	}
	if command, ok := c.where(true); ok {
		t.Errorf("recorded %+v at the end although nothing moved", command)
	}
}

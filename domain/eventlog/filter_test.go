package eventlog

import (
	"strings"
	"testing"
	"time"

	"ledge/domain"
)

func TestSubjectPatterns(t *testing.T) {
	for _, tt := range []struct {
		pattern, subject string
		want             bool
	}{
		{"ledge.event.device.cam-1.added", "ledge.event.device.cam-1.added", true},
		{"ledge.*.device.*.added", "ledge.event.device.cam-1.added", true},
		{"ledge.>", "ledge.event.device.cam-1.added", true},
		{"ledge.event.device.cam-1.added.>", "ledge.event.device.cam-1.added", false},
		{"ledge.event", "ledge.event.device", false},
		{"ledge.event.*", "ledge.event.device.x", false},
		{"ledge.>.x", "ledge.event.x", false},
	} {
		if got := subjectMatches(tt.pattern, tt.subject); got != tt.want {
			t.Errorf("%s, %s: got %v", tt.pattern, tt.subject, got)
		}
	}
}

// TestFilter has each field choose or leave out one event.
func TestFilter(t *testing.T) {
	at := time.Date(2026, 11, 21, 7, 42, 5, 0, time.UTC)
	added := Event{
		Log: Changes, Seq: 7, Subject: "ledge.event.device.cam-1.added", Stamp: domain.Stamp{At: at, Actor: "user:anna"},
		Wire: domain.Wire{Type: "device.added/1", Subject: domain.Subject{"device", "cam-1", "added"}},
	}
	issued, posted := added, added
	issued.Wire = domain.Wire{Type: "command.issued/2", Subject: domain.Subject{"command", "cam-1", "issued"}}
	posted.Log, posted.Wire = Readings, domain.Wire{Type: "reading.posted/1", Subject: domain.Subject{"camera", "cam-1", "jpeg"}}
	for _, tt := range []struct {
		name  string
		f     Filter
		event Event
		want  bool
	}{
		{"all", Filter{}, added, true},
		{"from the event", Filter{From: 7, To: 7}, added, true},
		{"from a later one", Filter{From: 8}, added, false},
		{"to an earlier one", Filter{To: 6}, added, false},
		{"since then", Filter{Since: at}, added, true},
		{"since later", Filter{Since: at.Add(1)}, added, false},
		{"until then", Filter{Until: at}, added, false},
		{"until later", Filter{Until: at.Add(1)}, added, true},
		{"type", Filter{Type: "device.added"}, added, true},
		{"type with version", Filter{Type: "device.*/1"}, added, true},
		{"another version", Filter{Type: "device.added/2"}, added, false},
		{"actor", Filter{Actor: "user:anna"}, added, true},
		{"actor without kind", Filter{Actor: "ann*"}, added, true},
		{"another actor", Filter{Actor: "user"}, added, false},
		{"entity", Filter{Entity: "device", Name: "cam-1"}, added, true},
		{"pattern of names", Filter{Name: "cam-*"}, added, true},
		{"a part of the name", Filter{Name: "cam"}, added, false},
		{"another case", Filter{Name: "CAM-1"}, added, false},
		{"any case", Filter{Name: Containing("AM-"), AnyCase: true}, added, true},
		{"any case of the type", Filter{Type: Containing("ADDED"), AnyCase: true}, added, true},
		{"a typed pattern", Filter{Type: Containing("[a"), AnyCase: true}, added, false},
		{"a typed question mark", Filter{Name: Containing("cam?1")}, added, false},
		{"a reading of the device", Filter{Entity: "device", Name: "cam-1"}, posted, true},
		{"a command", Filter{Entity: "command", Name: "cam-1"}, issued, true},
		{"a command is not the device", Filter{Entity: "device", Name: "cam-1"}, issued, false},
		{"a command to the device", Filter{Entity: "device", Name: "cam-1", Commands: true}, issued, true},
		{"subject", Filter{Subject: "ledge.event.>"}, added, true},
		{"another subject", Filter{Subject: "ledge.reading.>"}, added, false},
	} {
		if err := tt.f.Check(""); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if got := tt.f.Matches(tt.event); got != tt.want {
			t.Errorf("%s: got %t", tt.name, got)
		}
	}
}

func TestFilterFaults(t *testing.T) {
	for _, tt := range []struct {
		f    Filter
		says string
	}{
		{Filter{Type: "[a"}, `--type: "[a" is not a pattern`},
		{Filter{Name: strings.Repeat("*", 257)}, "has 257 bytes; use a pattern of at most 256"},
		{Filter{Subject: strings.Repeat("*.", 200)}, "--subject: "},
	} {
		if err := tt.f.Check("--"); err == nil || !strings.Contains(err.Error(), tt.says) || domain.CodeOf(err) != domain.Invalid {
			t.Errorf("%+v: got %v, want %s", tt.f, err, tt.says)
		}
	}
}

// TestEntities holds which entity an event is about, by log and type.
func TestEntities(t *testing.T) {
	for _, tt := range []struct {
		log, typ, subject, kind, name string
	}{
		{Changes, "device.added/1", "device cam-1 added", "device", "cam-1"},
		{Readings, "reading.posted/1", "camera cam-1 jpeg", "device", "cam-1"},
		{Readings, "event.added/1", "camera cam-1 all", "device", "cam-1"},
		{Readings, "cleanup.finished/1", "cleanup event finished", "cleanup", "event"},
		{Notifications, "notification.added/1", "alarm 4711 added", "notification", "4711"},
		{Notifications, "transmission.tried/1", "alarm 4711 tried", "notification", "4711"},
		{Notifications, "notifications.replayed/1", "replays watch replayed", "replays", "watch"},
		{Notifications, "notifications.removed/1", "cleanup age removed", "cleanup", "age"},
		{Changes, "odd/1", "odd", "odd", ""},
	} {
		if kind, name := entityOf(tt.log, tt.typ, strings.Fields(tt.subject)); kind != tt.kind || name != tt.name {
			t.Errorf("%s %s: got %s %s", tt.typ, tt.subject, kind, name)
		}
	}
}

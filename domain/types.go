package domain

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"ledge/domain/fastjson"
)

// kinds is the table from wire name to decoder. A line is never changed or taken away.
//
// An event changes by one rule. A new field that is left out where it is empty, and then means what the event meant before, keeps the version,
// and gets a variant of the event's golden file. Anything else is a new version: a new line, which decodes into today's type as the old line
// goes on to do. An older Ledge refuses both, the field and the version, because to drop them would be to forget a change. It also refuses a
// type of channel that it does not know, so that a new kind of channel keeps the versions.
var kinds = []kind{
	of[ProfileAdded]("profile.added/1"),
	of[ProfileUpdated]("profile.updated/1"),
	of[ProfileRemoved]("profile.removed/1"),
	of[ServiceAdded]("service.added/1"),
	of[ServiceUpdated]("service.updated/1"),
	of[ServiceRemoved]("service.removed/1"),
	of[DeviceAdded]("device.added/1"),
	of[DeviceUpdated]("device.updated/1"),
	of[DeviceRemoved]("device.removed/1"),
	of[WatcherAdded]("watcher.added/1"),
	of[WatcherUpdated]("watcher.updated/1"),
	of[WatcherRemoved]("watcher.removed/1"),
	of[SubscriptionAdded]("subscription.added/1"),
	of[SubscriptionUpdated]("subscription.updated/1"),
	of[SubscriptionRemoved]("subscription.removed/1"),
	of[SamplesSeeded]("samples.seeded/1"),
	of[NotificationAdded]("notification.added/1"),
	of[NotificationsRaised]("notifications.raised/1"),
	of[NotificationProcessed]("notification.processed/1"),
	of[TransmissionTried]("transmission.tried/1"),
	of[NotificationsReplayed]("notifications.replayed/1"),
	of[CallbacksMade]("callbacks.made/1"),
	of[RequestAnswered]("request.answered/1"),
	// Version 2 may have channels of other types than ZeroMQ, which who knows version 1 would take for that.
	of[SubscriptionAdded]("subscription.added/2"),
	of[SubscriptionUpdated]("subscription.updated/2"),
	of[SubscriptionRemoved]("subscription.removed/2"),
	of[NotificationsAcknowledged]("notifications.acknowledged/1"),
	of[NotificationsRemoved]("notifications.removed/1"),
	of[CleanupRequested]("cleanup.requested/1"),
	of[CleanupFinished]("cleanup.finished/1"),
	{"reading.posted/1", reflect.TypeFor[ReadingPosted](), decodeReading, encodeReading, readingAttributes},
	of[DataEventAdded]("event.added/1"),
	of[DataEventsRemoved]("events.removed/1"),
	// Before these, an update had the whole entity.
	update[DevicePatched, Device]("device.updated/2"),
	update[ProfilePatched, Profile]("profile.updated/2"),
	update[ServicePatched, DeviceService]("service.updated/2"),
	update[WatcherPatched, ProvisionWatcher]("watcher.updated/2"),
	update[SubscriptionPatched, Subscription]("subscription.updated/3"),
	of[SequenceLost]("sequence.lost/1"),
	// These may have channels that restrict who receives. Who knows earlier versions would send to everybody.
	of[SubscriptionAdded]("subscription.added/3"),
	of[SubscriptionRemoved]("subscription.removed/3"),
	update[SubscriptionPatched, Subscription]("subscription.updated/4"),
	of[UserAdded]("user.added/1"),
	of[UserUpdated]("user.updated/1"),
	of[UserPassword]("user.password/1"),
	of[UserRemoved]("user.removed/1"),
	of[TokenAdded]("token.added/1"),
	of[TokenRotated]("token.rotated/1"),
	of[TokenRemoved]("token.removed/1"),
	of[CommandIssued]("command.issued/1"),
	// Version 1 was recorded after the command was sent, with its outcome.
	of[CommandIssued]("command.issued/2"),
	of[CommandAnswered]("command.answered/1"),
	of[TransmissionsResent]("transmissions.resent/1"),
	of[RetentionSet]("retention.set/1"),
}

type kind struct {
	name   string
	typ    reflect.Type
	decode func(Wire) (Event, error)
	encode func(Event, Wire) (Wire, error) // adds what the event has to a Wire
	ext    []string                        // the attributes that it may have
}

// of is the kind of an event whose fields are written as JSON.
func of[E Event](name string) kind {
	codec := fastjson.Of[E]()
	decode := func(w Wire) (Event, error) {
		var e E
		if err := known(codec.UnmarshalKnown(w.Data, &e)); err != nil {
			return nil, fmt.Errorf("decode %s: %w", name, err)
		}
		return e, nil
	}
	encode := func(event Event, w Wire) (Wire, error) {
		e := event.(E)
		data, err := codec.Append(make([]byte, 0, roomOf(event)), &e)
		if err != nil {
			return Wire{}, fmt.Errorf("encode %s: %w", name, err)
		}
		w.Data = data
		return w, nil
	}
	return kind{name, reflect.TypeFor[E](), decode, encode, nil}
}

// usualEvent is room for most events, in bytes.
const usualEvent = 512

// roomOf is how long the JSON of an event most likely is, in bytes, and no less: what grows is copied.
func roomOf(e Event) int {
	if r, ok := e.(interface{ room() int }); ok {
		return r.room()
	}
	return usualEvent
}

var byName, byType = index(kinds)

func index(kinds []kind) (map[string]kind, map[reflect.Type]kind) {
	names, types := map[string]kind{}, map[reflect.Type]kind{}
	for _, k := range kinds {
		names[k.name] = k
		types[k.typ] = k // the last line wins: the newest version is what Encode writes
	}
	return names, types
}

// Verbs returns the types of all events without their versions, such as device.added, in alphabetical order.
func Verbs() []string {
	verbs := make([]string, len(kinds))
	for i, k := range kinds {
		verbs[i], _, _ = strings.Cut(k.name, "/")
	}
	slices.Sort(verbs)
	return slices.Compact(verbs)
}

// Encode returns the form of e that the log stores: its fields as JSON, or, for a reading, the posted body itself. What is
// appended goes through [Record].
func Encode(e Event) (Wire, error) {
	k, ok := byType[reflect.TypeOf(e)]
	if !ok {
		return Wire{}, fmt.Errorf("event %T has no wire name in domain/types.go", e)
	}
	return k.wire(e)
}

func (k kind) wire(e Event) (Wire, error) {
	return k.encode(e, Wire{Type: k.name, Subject: e.Subject(), ContentType: typeJSON})
}

const typeJSON = "application/json"

// Decode is the inverse of Encode. An unknown type of event or channel, field or attribute is an error: an older Ledge must not skip what
// it does not know.
func Decode(w Wire) (Event, error) {
	k, ok := byName[w.Type]
	if !ok {
		return nil, unknown("event type", w.Type)
	}
	for name := range w.Ext {
		if !slices.Contains(k.ext, name) {
			return nil, fmt.Errorf("decode %s: %w", w.Type, unknown("attribute", name))
		}
	}
	e, err := k.decode(w)
	if err != nil {
		return nil, err
	}
	if err := checkChannelTypes(e); err != nil {
		return nil, fmt.Errorf("decode %s: %w", w.Type, err)
	}
	return e, nil
}

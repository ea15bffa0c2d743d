package domain

import "slices"

// Change is a Command that changes or removes one entity that is there.
type Change interface {
	Command
	// target is that entity; ok is false where there is none, which Decide refuses.
	target(State) (t target, ok bool)
}

type target struct {
	kind, name string
	revision   uint64
}

// IfMatch is Change where its entity is at one of Revisions or, with Any, at whichever. As it is judged by Decide, of
// two changes that rest on one revision only the first is made.
type IfMatch struct {
	Change    Change
	Any       bool
	Revisions []uint64
}

// Decide refuses with Stale where the entity is at another revision. Where there is none, it refuses as Change does: RFC
// 9110, 13.2.1, lets a condition count only for what would succeed without it.
func (c IfMatch) Decide(s State) (Event, error) {
	t, ok := c.Change.target(s)
	if ok && !c.Any && !slices.Contains(c.Revisions, t.revision) {
		return nil, Errorf(Stale, "%s %q has the ETag \"%d\" now, which If-Match does not name; read it again and base the change on that", t.kind, t.name, t.revision)
	}
	return c.Change.Decide(s)
}

func targetOf[T any](s State, kind string, id, name *string, t Table[T]) (target, bool) {
	key, err := keyOf(s, kind, id, name)
	if err != nil {
		return target{}, false
	}
	_, ok := t.Get(key)
	return target{kind, key, Revision(t, key)}, ok
}

func patchTarget[T any](s State, kind string, p Patch[T], t Table[T]) (target, bool) {
	id, name := p.idAndName()
	return targetOf(s, kind, id, name, t)
}

// notification is the target of a command on notifications, where it names one.
func (s State) notification(ids []string) (target, bool) {
	if len(ids) != 1 {
		return target{}, false
	}
	_, ok := s.Notifications.Get(ids[0])
	return target{"notification", ids[0], Revision(s.Notifications, ids[0])}, ok
}

func (s State) profile(id, name *string) (target, bool) {
	return targetOf(s, "profile", id, name, s.Profiles)
}

func (c UpdateProfile) target(s State) (target, bool) {
	return s.profile(&c.Profile.ID, &c.Profile.Name)
}
func (c UpdateProfileInfo) target(s State) (target, bool) {
	return patchTarget(s, "profile", c.Patch, s.Profiles)
}
func (c RemoveProfile) target(s State) (target, bool) { return s.profile(nil, &c.Name) }

// A part of a profile has the profile's revision.

func (c AddDeviceResource) target(s State) (target, bool)    { return s.profile(nil, &c.Profile) }
func (c UpdateDeviceResource) target(s State) (target, bool) { return s.profile(nil, &c.Profile) }
func (c RemoveDeviceResource) target(s State) (target, bool) { return s.profile(nil, &c.Profile) }
func (c AddDeviceCommand) target(s State) (target, bool)     { return s.profile(nil, &c.Profile) }
func (c UpdateDeviceCommand) target(s State) (target, bool)  { return s.profile(nil, &c.Profile) }
func (c RemoveDeviceCommand) target(s State) (target, bool)  { return s.profile(nil, &c.Profile) }

func (c UpdateService) target(s State) (target, bool) {
	return patchTarget(s, "service", c.Patch, s.Services)
}

func (c RemoveService) target(s State) (target, bool) {
	return targetOf(s, "service", nil, &c.Name, s.Services)
}

func (c UpdateDevice) target(s State) (target, bool) {
	return patchTarget(s, "device", c.Patch, s.Devices)
}

func (c RemoveDevice) target(s State) (target, bool) {
	return targetOf(s, "device", nil, &c.Name, s.Devices)
}

func (c UpdateWatcher) target(s State) (target, bool) {
	return patchTarget(s, "watcher", c.Patch, s.Watchers)
}

func (c RemoveWatcher) target(s State) (target, bool) {
	return targetOf(s, "watcher", nil, &c.Name, s.Watchers)
}

func (c UpdateSubscription) target(s State) (target, bool) {
	return patchTarget(s, "subscription", c.Patch, s.Subscriptions)
}

func (c RemoveSubscription) target(s State) (target, bool) {
	return targetOf(s, "subscription", nil, &c.Name, s.Subscriptions)
}

func (c AcknowledgeNotifications) target(s State) (target, bool) { return s.notification(c.IDs) }

func (c RemoveNotifications) target(s State) (target, bool) {
	ids := make([]string, len(c.Removals))
	for i, r := range c.Removals {
		ids[i] = r.ID
	}
	return s.notification(ids)
}

func (c RemoveDataEvent) target(s State) (target, bool) {
	_, ok := s.DataEvents.Get(c.ID)
	return target{"event", c.ID, Revision(s.DataEvents, c.ID)}, ok
}

func (c ChangeUser) target(s State) (target, bool) {
	return targetOf(s, "user", nil, &c.Name, s.Users)
}

func (c SetPassword) target(s State) (target, bool) {
	return targetOf(s, "user", nil, &c.Name, s.Users)
}

func (c RemoveUser) target(s State) (target, bool) {
	return targetOf(s, "user", nil, &c.Name, s.Users)
}

func (c RotateToken) target(s State) (target, bool) {
	return targetOf(s, "token", nil, &c.Name, s.Tokens)
}

func (c RemoveToken) target(s State) (target, bool) {
	return targetOf(s, "token", nil, &c.Name, s.Tokens)
}

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

type object = map[string]any

// change is what became of a value; docs/reference/nats.md says how to read it.
type change struct {
	At  *int              `json:"at"`
	Was json.RawMessage   `json:"was"`
	Is  json.RawMessage   `json:"is"`
	In  map[string]change `json:"in"`
}

// fold applies an event of a device. It returns the device after the event (of a removal, before it) and EdgeX's word for the event.
func (d *devices) fold(name, kind string, data []byte) (device object, action string, err error) {
	var e struct {
		Device   object
		Modified json.Number
		Changes  map[string]change
	}
	if len(data) > 0 { // Ledge leaves out a payload of more than 512 KiB
		if err := decode(data, &e); err != nil {
			return nil, "", err
		}
	}
	switch kind {
	case "device.added/1":
		device, err = d.put(name, e.Device)
		return device, "add", err
	case "device.updated/1":
		device, err = d.put(name, e.Device)
		return device, "update", err
	case "device.updated/2":
		at, _ := e.Modified.Int64()
		if d.known[name] == nil || len(data) == 0 || at <= d.asked[name] {
			device, err = d.ask(name)
			return device, "update", err
		}
		device, _ = apply(d.known[name], change{In: e.Changes}).(object)
		device["modified"] = e.Modified
		d.known[name] = device
		return device, "update", nil
	case "device.removed/1":
		device = d.known[name]
		if e.Device != nil {
			device = e.Device
		}
		delete(d.known, name)
		return device, "delete", nil
	}
	return nil, "", fmt.Errorf("unknown type %s", kind)
}

// decode keeps numbers as they are written: a float64 has no room for nanoseconds.
func decode(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return d.Decode(v)
}

// apply returns a value after a change.
func apply(v any, c change) any {
	list, _ := v.([]any)
	switch {
	case c.In != nil && list != nil:
		list = slices.Clone(list)
		for key, inner := range c.In {
			if i, err := strconv.Atoi(key); err == nil && i < len(list) {
				list[i] = apply(list[i], inner)
			}
		}
		return list
	case c.In != nil:
		members, _ := v.(object)
		members = maps.Clone(members)
		if members == nil {
			members = object{}
		}
		for key, inner := range c.In {
			if members[key] = apply(members[key], inner); inner.In == nil && inner.At == nil && inner.Is == nil {
				delete(members, key)
			}
		}
		return members
	case c.At != nil:
		var out, in []any
		_, _ = decode(c.Was, &out), decode(c.Is, &in)
		at := min(*c.At, len(list))
		return slices.Concat(list[:at], in, list[min(at+len(out), len(list)):])
	}
	var is any
	_ = decode(c.Is, &is)
	return is
}

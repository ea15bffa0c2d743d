package domain

import (
	"fmt"
	"strconv"
)

// Reading is the fact that a value was posted; the value itself stays on the log, at Seq, or in the payload store.
type Reading struct {
	ID        string `json:"id"`
	Profile   string `json:"profile"`
	Device    string `json:"device"`
	Resource  string `json:"resource"`
	ValueType string `json:"valueType"`
	MediaType string `json:"mediaType"`
	// Size is the value's length in bytes.
	Size int64 `json:"size"`
	// Digest is the hex SHA-256 of a value that is kept beside the log; empty for one in the message itself.
	Digest string `json:"digest,omitempty"`
	// Origin is nanoseconds since the Unix epoch.
	Origin int64 `json:"origin"`
}

// ReadingPosted records a posted value. Value is the message's payload, byte for byte as it was posted; it is empty
// where Digest is set.
type ReadingPosted struct {
	Reading
	Value []byte
}

// Evolve records the reading.
func (e ReadingPosted) Evolve(s State) { s.Readings.Put(e.ID, e.Reading) }

// Subject implements Event.
func (e ReadingPosted) Subject() Subject { return Subject{e.Profile, e.Device, e.Resource} }

func (e ReadingPosted) encode(w Wire) Wire {
	w.ContentType = e.MediaType
	w.Data = e.Value
	w.Ext = map[string]string{
		"readingid": e.ID, "valuetype": e.ValueType, "origin": fmt.Sprint(e.Origin),
		"size": fmt.Sprint(e.Size),
	}
	if e.Digest != "" {
		w.Ext["digest"] = e.Digest
	}
	return w
}

func decodeReading(w Wire) (Event, error) {
	if len(w.Subject) != 3 {
		return nil, fmt.Errorf("decode %s: subject %v has not the three tokens profile, device, resource", w.Type, w.Subject)
	}
	e := ReadingPosted{Reading: Reading{
		ID: w.Ext["readingid"], Profile: w.Subject[0], Device: w.Subject[1], Resource: w.Subject[2],
		ValueType: w.Ext["valuetype"], MediaType: w.ContentType, Digest: w.Ext["digest"],
	}, Value: w.Data}
	var err error
	if e.Origin, err = strconv.ParseInt(w.Ext["origin"], 10, 64); err != nil {
		return nil, fmt.Errorf("decode %s: origin %q: %w", w.Type, w.Ext["origin"], err)
	}
	if e.Size, err = strconv.ParseInt(w.Ext["size"], 10, 64); err != nil {
		return nil, fmt.Errorf("decode %s: size %q: %w", w.Type, w.Ext["size"], err)
	}
	return e, nil
}

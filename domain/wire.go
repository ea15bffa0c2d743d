package domain

// Wire is an event in the form that the log stores.
type Wire struct {
	// Type is the wire name with its version, such as "device.added/1" (ce-type).
	Type string
	// Subject is the event's subject below the stream's prefix.
	Subject Subject
	// ContentType is the media type of Data.
	ContentType string
	Data        []byte
	// Ext holds the event's own CloudEvents extension attributes: lower-case names, printable ASCII values.
	Ext map[string]string
}

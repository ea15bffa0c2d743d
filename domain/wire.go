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
	// Ext holds the event's own CloudEvents extension attributes: lower-case names, values of at most MaxHeader bytes.
	Ext map[string]string
}

// MaxHeader is the length of an attribute's value in bytes, as [HeaderBytes] counts.
const MaxHeader = 4 << 10

// HeaderBytes is how many bytes a value takes in a header: CloudEvents has the space, the double quote, the percent sign and all that is not
// printable ASCII percent-encoded.
func HeaderBytes(value string) int {
	n := len(value)
	for i := range len(value) {
		if !IsHeaderByte(value[i]) {
			n += 2
		}
	}
	return n
}

// IsHeaderByte reports whether a byte stands in a header as it is.
func IsHeaderByte(c byte) bool { return c > ' ' && c < 0x7f && c != '"' && c != '%' }

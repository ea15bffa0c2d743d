package edgex

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"mime"

	"github.com/fxamacker/cbor/v2"
)

// Message is a message as NATS delivers it.
type Message struct {
	Subject string
	Header  map[string][]string
	Data    []byte
}

// The content types of payloads.
const (
	typeJSON = "application/json"
	typeCBOR = "application/cbor"
)

// envelope is a MessageEnvelope of EdgeX.
type envelope struct {
	version     string // of the API: v2 or v3
	correlation string // id
	contentType string // without parameters
	payload     []byte
}

// isFrom3 reports whether the payload is of EdgeX 3 or 4.
func (e envelope) isFrom3() bool { return e.version == "v3" }

// jsonEnvelope is the whole envelope in JSON. EdgeX 2.3 begins the names with capital letters, which encoding/json takes too.
type jsonEnvelope struct {
	APIVersion    string          `json:"apiVersion"`
	CorrelationID string          `json:"correlationID"`
	ErrorCode     int             `json:"errorCode"`
	ContentType   string          `json:"contentType"`
	Payload       json.RawMessage `json:"payload"`
}

// cborEnvelope is the whole envelope in CBOR, as EdgeX 4.0 writes it if EDGEX_MSG_CBOR_ENCODE is set.
type cborEnvelope struct {
	APIVersion    string          `json:"apiVersion"`
	CorrelationID string          `json:"correlationID"`
	ErrorCode     int             `json:"errorCode"`
	ContentType   string          `json:"contentType"`
	Payload       cbor.RawMessage `json:"payload"`
}

// openEnvelope returns the envelope of a message. Format nats has it in headers, format json in the data.
func openEnvelope(m Message) (envelope, error) {
	if m.Header["Content-Type"] == nil {
		return openWhole(m.Data)
	}
	if code := firstOf(m.Header, "ErrorCode"); code != "" && code != "0" {
		return envelope{}, errFailed(m.Data)
	}
	return envelope{
		version: firstOf(m.Header, "ApiVersion"), correlation: firstOf(m.Header, "X-Correlation-ID"),
		contentType: mediaType(firstOf(m.Header, "Content-Type")), payload: m.Data,
	}.check()
}

func openWhole(data []byte) (e envelope, err error) {
	if isCBORMap(data) {
		var c cborEnvelope
		if err := decodeCBOR(data, &c); err != nil {
			return envelope{}, fmt.Errorf("the envelope is not CBOR of a MessageEnvelope: %w", err)
		}
		e = envelope{version: c.APIVersion, correlation: c.CorrelationID, contentType: mediaType(c.ContentType), payload: c.Payload}
		if !isCBORMap(c.Payload) { // bytes, or a text if errorCode is 1
			e.payload = nil
			_ = decodeCBOR(c.Payload, &e.payload)
		}
		if c.ErrorCode != 0 {
			return envelope{}, errFailed(e.payload)
		}
		return e.check()
	}
	var j jsonEnvelope
	if err := json.Unmarshal(data, &j); err != nil {
		return envelope{}, fmt.Errorf("the message has no header Content-Type, and is not JSON of a MessageEnvelope: %w", err)
	}
	e = envelope{version: j.APIVersion, correlation: j.CorrelationID, contentType: mediaType(j.ContentType), payload: j.Payload}
	if bytes.HasPrefix(j.Payload, []byte(`"`)) { // EdgeX 4.0 sends JSON as it is
		data, err := fromBase64(j.Payload)
		switch {
		case err == nil:
			e.payload = data
		case j.ErrorCode == 0:
			return envelope{}, fmt.Errorf("payload: is not base64: %w", err)
		}
	}
	if j.ErrorCode != 0 {
		return envelope{}, errFailed(e.payload)
	}
	return e.check()
}

// check refuses an envelope without a payload of a known type.
func (e envelope) check() (envelope, error) {
	switch {
	case e.contentType != typeJSON && e.contentType != typeCBOR:
		return envelope{}, fmt.Errorf("contentType: %.80q is unknown; send %s or %s", e.contentType, typeJSON, typeCBOR)
	case len(e.payload) == 0 || string(e.payload) == "null":
		return envelope{}, errors.New("payload: is empty; send an AddEventRequest")
	}
	return e, nil
}

// errFailed is the error of an envelope that has the error of its sender in place of an event.
func errFailed(payload []byte) error {
	return fmt.Errorf("errorCode: is not 0; the sender says %.120q", payload)
}

// isCBORMap reports whether the data begins with a map of CBOR; see RFC 8949, section 3.1. No JSON text begins so.
func isCBORMap(data []byte) bool { return len(data) > 0 && data[0]>>5 == 5 }

func fromBase64(text json.RawMessage) (data []byte, err error) {
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(s)
}

func mediaType(text string) string {
	if t, _, err := mime.ParseMediaType(text); err == nil {
		return t
	}
	return text
}

func firstOf(header map[string][]string, name string) string {
	if values := header[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}

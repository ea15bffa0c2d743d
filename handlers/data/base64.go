package data

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"ledge/domain"
	"ledge/handlers/jsonform"
)

// eventFormat is JSON, and says which reading has a binaryValue that is not base64: the decoder does not.
var eventFormat = jsonform.Format{Name: "JSON", Unmarshal: func(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	if wrong, ok := errors.AsType[base64.CorruptInputError](err); ok {
		return notBase64(data, wrong)
	}
	return err
}}

func notBase64(data []byte, err error) error {
	var texts struct {
		Event struct {
			Readings []struct {
				BinaryValue string `json:"binaryValue"`
			} `json:"readings"`
		} `json:"event"`
	}
	_ = json.Unmarshal(data, &texts) // what else is wrong with it comes later
	var p domain.Problems
	for i, r := range texts.Event.Readings {
		if _, wrong := base64.StdEncoding.DecodeString(r.BinaryValue); wrong != nil {
			p.Add(fmt.Sprintf("event.readings[%d].binaryValue", i), "%.80q is not base64: %v; send the bytes in base64 of RFC 4648, section 4, padded with =", r.BinaryValue, wrong)
			return p.Err()
		}
	}
	return err
}

package domain

import (
	"encoding/json"
	"fmt"
)

// maxProfile bounds a profile in bytes of JSON as answers have it, so that an answer can be sent back. A change that replaces all of it has
// it twice, which is half of what a message of the log may have.
const maxProfile = 8 << 20

// The keys that an answer has of a part and the log leaves out if they are empty, in bytes.
const (
	emptyProfile   = 200
	emptyResource  = 220
	emptyCommand   = 30
	emptyOperation = 40
)

// checkLength refuses a profile that is too long, and returns how long it is on the log.
func (d Profile) checkLength() (onLog int, err error) {
	text, err := json.Marshal(d)
	if err != nil {
		return 0, fmt.Errorf("profile %q: %w", d.Name, err)
	}
	length := len(text) + emptyProfile + emptyResource*len(d.DeviceResources) + emptyCommand*len(d.DeviceCommands)
	for i := range d.DeviceCommands {
		length += emptyOperation * len(d.DeviceCommands[i].ResourceOperations)
	}
	if length > maxProfile {
		return 0, Errorf(TooLarge, "profile %q would be %d bytes long, with %d resources, over the limit of %d bytes; split it into several profiles",
			d.Name, length, len(d.DeviceResources), maxProfile)
	}
	return len(text), nil
}

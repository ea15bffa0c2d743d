package store

import (
	"strings"
	"testing"

	"ledge/domain"
)

// A condition hides nothing of its command's size.
func TestSizeOfCondition(t *testing.T) {
	change := domain.UpdateProfile{Profile: domain.Profile{DeviceResources: []domain.DeviceResource{
		{Properties: domain.ResourceProperties{Units: strings.Repeat("x", 5000)}},
	}}}
	plain, conditional := sizeOf(domain.Request{Command: change}), sizeOf(domain.Request{Command: domain.IfMatch{Change: change}})
	if conditional != plain || plain < 5000 {
		t.Errorf("got %d bytes, and %d with a condition, want the same over 5000", plain, conditional)
	}
}

package domain

// Identity is the person or program that sends a request.
type Identity struct {
	// Actor is what events say: "user:anna", "token:pos-7", "cert:cam-1", "jwt:subject", "local", or [AnonymousAt] an address.
	Actor string
	Role  Role
	// Devices are patterns of the names of the devices to which the identity may post; * stands for any characters. Empty is every device.
	Devices []string
}

// MayPostTo reports whether the identity may post values to a device.
func (i Identity) MayPostTo(device string) bool {
	if !i.Role.May(MayPost) {
		return false
	}
	for _, pattern := range i.Devices {
		if matches(pattern, device) {
			return true
		}
	}
	return len(i.Devices) == 0
}

// matches reports whether a name matches a pattern in which * stands for any characters. It takes linear time for each *.
func matches(pattern, name string) bool {
	star, from := -1, 0
	p, n := 0, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from = p, n
			p++
		case p < len(pattern) && pattern[p] == name[n]:
			p++
			n++
		case star >= 0: // the last star takes one character more
			from++
			p, n = star+1, from
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

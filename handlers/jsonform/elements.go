package jsonform

// CutElement cuts the first element off rest, which is what follows the [ of a JSON array or one of its commas: after
// begins with the byte that ends the element, and is empty if nothing does. entries counts the commas, braces and
// brackets that begin an entry of a list or an object in the element, and objects as objectEntries. Nothing is checked and nothing copied:
// a text that is not JSON stays in one of the elements, or ends the array with a brace.
func CutElement(rest []byte) (element, after []byte, entries int) {
	depth := 0
	for i := 0; i < len(rest); i++ {
		switch rest[i] {
		case '"':
			i = endOfString(rest, i)
		case '[':
			depth++
			entries++
		case '{':
			depth++
			entries += objectEntries
		case '}', ']':
			if depth == 0 {
				return rest[:i], rest[i:], entries
			}
			depth--
		case ',':
			if depth == 0 {
				return rest[:i], rest[i:], entries
			}
			entries++
		}
	}
	return rest, nil, entries
}

// objectEntries is how many entries an object counts: in memory it has all fields of its type, also those that are not in its text.
const objectEntries = 6

// CountEntries counts the entries of the lists and objects in a JSON text, an object as several, or one more for each. If the text is not
// JSON, it returns any number.
func CountEntries(text []byte) int {
	_, _, entries := CutElement(text)
	return entries
}

// endOfString returns where the quote is that closes the one at i, or len(text).
func endOfString(text []byte, i int) int {
	for i++; i < len(text) && text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return min(i, len(text))
}

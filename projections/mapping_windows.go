package projections

// mapSize is 0 because Windows makes the file as long as its mapping.
const mapSize = 0

// A million points on the graphics card: WebGL2, one draw call, one byte of colour a point.
//
// Points are uploaded in a shuffled order, so that any first part of them is a fair sample: while the
// map moves, as many are drawn as the machine manages in a frame, and all of them when it rests.
//
// No library draws it: what was tried (regl-scatterplot) draws all points in each frame, which takes half a second of a million
// without a graphics card, and would come as a bundle that nobody reads. results/serve has both side by side.

const VERTEX = `#version 300 es
layout(location = 0) in vec2 place;
layout(location = 1) in uint tone;
uniform vec2 centre, zoom;
uniform float size;
uniform sampler2D palette;
out vec4 colour;
void main() {
  gl_Position = vec4((place - centre) * zoom, 0.0, 1.0);
  gl_PointSize = size;
  colour = texelFetch(palette, ivec2(int(tone), 0), 0);
}`;
const FRAGMENT = `#version 300 es
precision highp float;
in vec4 colour;
uniform float size;
uniform vec4 ring;
out vec4 painted;
void main() {
  float away = length(gl_PointCoord - 0.5) * size;
  float inside = clamp(size * 0.5 - away, 0.0, 1.0);
  if (inside * colour.a <= 0.0) discard;
  float edge = ring.a * clamp(away - size * 0.5 + 2.5, 0.0, 1.0);
  vec4 shown = mix(colour, vec4(ring.rgb, 1.0), edge);
  painted = vec4(shown.rgb * shown.a, shown.a) * inside;
}`;

/** Least number of points drawn while the map moves. */
const LEAST = 20_000;
/** Milliseconds of a frame above which fewer points are drawn, and below which more. */
const SLOW = 34;
const QUICK = 20;

export class Points {
  /** Draws into a canvas. Throws where the browser has no WebGL2. */
  constructor(canvas) {
    this.canvas = canvas;
    this.gl = canvas.getContext('webgl2', { alpha: true, antialias: false, powerPreference: 'high-performance' });
    if (!this.gl) throw new Error('This browser has no WebGL2, which the map is drawn with.');
    this.count = 0;
    this.budget = 300_000;
    this.lists = new Map();
    canvas.addEventListener('webglcontextlost', (event) => event.preventDefault());
    canvas.addEventListener('webglcontextrestored', () => this.#prepare());
    this.#prepare();
  }

  /** Where the points lie: `x, y` of each, `Float32Array` of twice their number. */
  put(places) {
    this.places = places;
    this.count = places.length / 2;
    this.order = shuffled(this.count);
    this.slot = new Uint32Array(this.count);
    this.order.forEach((item, slot) => { this.slot[item] = slot; });
    this.tones = new Uint8Array(this.count);
    this.#upload();
  }

  /** Tone of each point, and the 256 colours (`r g b a` each) that tones stand for. */
  paint(tones, palette) {
    this.order.forEach((item, slot) => { this.tones[slot] = tones[item]; });
    this.palette = palette;
    this.#tint();
  }

  /** Another tone for one point. */
  retone(item, tone) {
    const { gl } = this;
    this.tones[this.slot[item]] = tone;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.toneBuffer);
    gl.bufferSubData(gl.ARRAY_BUFFER, this.slot[item], this.tones, this.slot[item], 1);
  }

  /** Items that are drawn once more, larger, ringed and above all others. */
  raise(name, items, ring, size) {
    const { gl } = this;
    const kept = this.lists.get(name) ?? { buffer: gl.createBuffer() };
    const slots = Uint32Array.from(items, (item) => this.slot[item]);
    gl.bindVertexArray(this.array);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, kept.buffer);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, slots, gl.DYNAMIC_DRAW);
    this.lists.set(name, { ...kept, slots, ring, size });
  }

  /** Draws what lies around `x, y` at `scale` clip units a unit of the map. */
  draw({ x, y, scale }, moving) {
    const { gl, canvas } = this;
    if (gl.isContextLost() || !this.count) return;
    const shown = moving ? Math.min(this.count, Math.round(this.budget)) : this.count;
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.useProgram(this.program);
    gl.bindVertexArray(this.array);
    gl.uniform2f(this.at.centre, x, y);
    gl.uniform2f(this.at.zoom, scale * Math.min(1, canvas.height / canvas.width), scale * Math.min(1, canvas.width / canvas.height));
    const ratio = devicePixelRatio || 1;
    const crowd = Math.sqrt((canvas.width * canvas.height) / (ratio * ratio) / this.count);
    const size = ratio * Math.min(9, Math.max(1.5, crowd * 0.33 * scale ** 0.8));
    this.#pass(size, [0, 0, 0, 0], () => gl.drawArrays(gl.POINTS, 0, shown));
    for (const { buffer, slots, ring, size: larger } of this.lists.values()) {
      gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, buffer);
      const points = () => gl.drawElements(gl.POINTS, slots.length, gl.UNSIGNED_INT, 0);
      this.#pass(Math.max(size, larger * ratio), ring, points);
    }
  }

  /** Tells how long the last frame of a movement took, so that the next one is in time. */
  took(milliseconds) {
    if (milliseconds > SLOW) this.budget = Math.max(LEAST, this.budget * Math.min(0.7, Math.max(0.2, SLOW / milliseconds)));
    else if (milliseconds < QUICK) this.budget = Math.min(Math.max(LEAST, this.count), this.budget * 1.3);
  }

  #pass(size, ring, points) {
    this.gl.uniform1f(this.at.size, size);
    this.gl.uniform4fv(this.at.ring, ring);
    points();
  }

  #prepare() {
    const { gl } = this;
    this.program = linked(gl);
    this.at = Object.fromEntries(['centre', 'zoom', 'size', 'ring'].map((name) => [name, gl.getUniformLocation(this.program, name)]));
    this.array = gl.createVertexArray();
    this.placeBuffer = gl.createBuffer();
    this.toneBuffer = gl.createBuffer();
    this.texture = gl.createTexture();
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.clearColor(0, 0, 0, 0);
    if (!this.count) return;
    this.#upload();
    this.#tint();
    for (const [name, list] of this.lists) {
      this.lists.set(name, { ...list, buffer: gl.createBuffer() });
      this.raise(name, Array.from(list.slots, (slot) => this.order[slot]), list.ring, list.size);
    }
  }

  #upload() {
    const { gl } = this;
    const sorted = new Float32Array(this.count * 2);
    this.order.forEach((item, slot) => {
      sorted[2 * slot] = this.places[2 * item];
      sorted[2 * slot + 1] = this.places[2 * item + 1];
    });
    gl.bindVertexArray(this.array);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.placeBuffer);
    gl.bufferData(gl.ARRAY_BUFFER, sorted, gl.STATIC_DRAW);
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 2, gl.FLOAT, false, 0, 0);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.toneBuffer);
    gl.bufferData(gl.ARRAY_BUFFER, this.tones, gl.DYNAMIC_DRAW);
    gl.enableVertexAttribArray(1);
    gl.vertexAttribIPointer(1, 1, gl.UNSIGNED_BYTE, 0, 0);
  }

  #tint() {
    const { gl } = this;
    if (!this.palette) return;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.toneBuffer);
    gl.bufferSubData(gl.ARRAY_BUFFER, 0, this.tones);
    gl.bindTexture(gl.TEXTURE_2D, this.texture);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, 256, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, this.palette);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
  }
}

function linked(gl) {
  const program = gl.createProgram();
  for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost()) {
    throw new Error(`The map cannot be drawn: ${gl.getProgramInfoLog(program)}`);
  }
  return program;
}

/** Numbers below `count` in an order without pattern, the same every time. */
function shuffled(count) {
  const order = Uint32Array.from({ length: count }, (_, i) => i);
  let state = 0x2545f491;
  for (let i = count - 1; i > 0; i -= 1) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    const j = Math.floor((state / 2 ** 32) * (i + 1));
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}

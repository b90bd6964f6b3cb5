// Draws the charts of a report from the data in the page, and fills its table of candidates.
// Depends on Chart.js 3.9, which stands before it in the page.
(() => {
  'use strict';

  const data = JSON.parse(document.getElementById('report-data').textContent);
  const root = document.documentElement;
  const darkQuery = window.matchMedia('(prefers-color-scheme: dark)');
  let chosenTheme = null;  // what the reader chose; null follows the system
  let charts = [];

  // ---- Numbers as people read them -------------------------------------------------------------

  const significant = (value, digits) => {
    if (value === 0) return '0';
    const decimals = digits - 1 - Math.floor(Math.log10(Math.abs(value)));
    return value.toFixed(Math.min(Math.max(decimals, 0), 12));
  };
  const trimmed = (text) => text.includes('.') ? text.replace(/\.?0+$/, '') : text;
  const scaled = (value, digits, units) => {
    for (const [size, unit] of units) {
      if (Math.abs(value) >= size * 0.99995) return significant(value / size, digits) + unit;
    }
    const [size, unit] = units[units.length - 1];
    return significant(value / size, digits) + unit;
  };
  const kSeconds = [[1, ' s'], [1e-3, ' ms'], [1e-6, ' us'], [1e-9, ' ns']];
  const kQuantities = [[1e15, ' P'], [1e12, ' T'], [1e9, ' G'], [1e6, ' M'], [1e3, ' k'], [1, '']];
  const formats = {
    number: (v) => trimmed(significant(v, 4)),
    count: (v) => Math.round(v).toLocaleString('en-US'),
    seconds: (v) => scaled(v, 4, kSeconds),
    quantity: (v) => scaled(v, 3, kQuantities),
    ratio: (v) => trimmed(significant(v, 4)) + 'x',
  };
  // On an axis: no more digits than needed.
  const short = (v, units) => {
    if (v === 0) return '0';
    const [number, unit] = scaled(v, 3, units).split(' ');
    return trimmed(number) + (unit ? ' ' + unit : '');
  };
  const tickFormats = {
    number: formats.number,
    count: formats.count,
    seconds: (v) => short(v, kSeconds),
    quantity: (v) => short(v, kQuantities),
    ratio: (v) => trimmed(significant(v, 3)) + 'x',
  };

  // ---- Colours ---------------------------------------------------------------------------------

  const variable = (name) => getComputedStyle(root).getPropertyValue('--' + name).trim();
  const seriesColor = (index) => variable('c' + (index % 8));
  const colorOf = (color) => color === 'soft' ? variable('muted') : seriesColor(Number(color || 0));
  const faded = (hex, alpha) => hex + Math.round(alpha * 255).toString(16).padStart(2, '0');

  // ---- From a chart's description to Chart.js ----------------------------------------------------

  const axis = (spec, extra) => {
    const format = tickFormats[spec.format || 'number'];
    const result = {
      type: spec.log ? 'logarithmic' : 'linear',
      title: {display: true, text: spec.label, color: variable('soft')},
      grid: {color: variable('grid'), drawBorder: false, tickLength: 4},
      ticks: {
        color: variable('soft'), maxRotation: 0, autoSkipPadding: 12,
        callback: function(value) {
          if (!spec.log) return format(value);
          // A logarithmic axis offers many: 1, 2 and 5 of each power, only powers where it is long,
          // and all where it is short.
          const decades = Math.log10(this.max / this.min);
          const mantissa = Number((value / 10 ** Math.floor(Math.log10(value) + 1e-9)).toPrecision(2));
          const wanted = decades > 4 ? [1] : [1, 2, 5];
          if (value === this.min || value === this.max) return null;
          return decades < 0.6 || wanted.includes(mantissa) ? format(value) : null;
        },
      },
      ...extra,
    };
    if (spec.min !== undefined) result.min = spec.min;
    if (spec.max !== undefined) {
      result.max = spec.max;
      result.ticks.includeBounds = false;
    }
    if (spec.log) result.ticks.includeBounds = false;
    return result;
  };

  const kDashes = [[], [6, 4], [2, 3], [9, 3, 2, 3]];
  // A cross is left for failures.
  const kShapes = ['circle', 'triangle', 'rect', 'rectRot', 'star', 'rectRounded'];
  const shapeOf = (shape) =>
      shape === 'cross' ? 'crossRot' : kShapes[Number(shape || 0) % kShapes.length];

  // A series of an x-y chart as one data set, or as three with a band between the outer two.
  const xyDatasets = (series) => {
    const color = colorOf(series.color);
    const line = {
      label: series.name, borderColor: color, backgroundColor: color,
      borderWidth: series.strong ? 3 : 2, pointStyle: 'line', pointRadius: 0, pointHitRadius: 8,
      tension: 0, borderDash: kDashes[series.dash || 0], stepped: series.step ? 'before' : false,
    };
    if (series.mode === 'points') {
      return [{
        ...line, showLine: false, pointRadius: series.size || 3.5, borderWidth: 1.2,
        backgroundColor: faded(color, series.hollow ? 0 : 0.4), pointStyle: shapeOf(series.shape),
        named: series.named, data: series.points.map(([x, y, label]) => ({x, y, label})),
      }];
    }
    const sets = [];
    if (series.band) {
      const edge = {
        ...line, borderWidth: 0, pointHitRadius: 0, borderDash: [], band: true, quiet: series.quiet,
        backgroundColor: faded(color, 0.16), hidden: !!series.quiet,
      };
      sets.push({...edge, data: series.band.map(([x, low]) => ({x, y: low})), fill: false});
      sets.push({...edge, data: series.band.map(([x, , high]) => ({x, y: high})), fill: '-1'});
    }
    sets.push({...line, data: series.points.map(([x, y, label]) => ({x, y, label})), fill: false});
    return sets;
  };

  // Shows the band of a series only while its name is pointed at.
  const showQuietBand = (chart, name, shown) => {
    let changed = false;
    chart.data.datasets.forEach((set, i) => {
      if (!set.band || !set.quiet || set.label !== name) return;
      chart.setDatasetVisibility(i, shown);
      changed = true;
    });
    if (changed) chart.update();
  };

  const legend = (spec) => ({
    display: spec.legend !== false,
    position: 'bottom',
    labels: {
      color: variable('ink'), usePointStyle: true, boxHeight: 7, padding: 14,
      filter: (item, chart) => !chart.datasets[item.datasetIndex].band,
    },
    // Hides a line together with its band.
    onClick: (event, item, self) => {
      const chart = self.chart;
      const name = chart.data.datasets[item.datasetIndex].label;
      const visible = chart.isDatasetVisible(item.datasetIndex);
      chart.data.datasets.forEach((set, i) => {
        if (set.label === name && !set.quiet) chart.setDatasetVisibility(i, !visible);
      });
      chart.update();
    },
    onHover: (event, item, self) => showQuietBand(self.chart, item.text, true),
    onLeave: (event, item, self) => showQuietBand(self.chart, item.text, false),
  });

  // ---- Words on the charts -----------------------------------------------------------------------

  const write = (chart, text, x, y, color, align = 'left', weight = '') => {
    const {ctx} = chart;
    ctx.save();
    ctx.font = `${weight} 12px ${Chart.defaults.font.family}`;
    ctx.fillStyle = color;
    ctx.textAlign = align;
    ctx.textBaseline = 'middle';
    ctx.fillText(text, x, y);
    ctx.restore();
  };

  // Names of lines at their ends instead of in a legend, moved apart where they would touch.
  const endLabels = {
    id: 'endLabels',
    afterDatasetsDraw(chart) {
      if (!chart.options.plugins.endLabels || !chart.options.plugins.endLabels.shown) return;
      const labels = chart.data.datasets.flatMap((set, i) => {
        const points = chart.getDatasetMeta(i).data;
        if (set.band || !chart.isDatasetVisible(i) || !points.length) return [];
        const quiet = set.borderColor === variable('muted');
        return [{text: set.label, y: points[points.length - 1].y,
                 color: quiet ? variable('soft') : set.borderColor,
                 weight: set.borderWidth > 2 ? '600' : ''}];
      }).sort((a, b) => a.y - b.y);
      const {top, bottom, right} = chart.chartArea;
      labels.forEach((label, i) => {
        label.y = Math.max(label.y, i ? labels[i - 1].y + 15 : top + 2);
      });
      for (let i = labels.length - 1, limit = bottom; i >= 0; --i, limit = labels[i + 1].y - 15) {
        labels[i].y = Math.min(labels[i].y, limit);
      }
      labels.forEach(({text, y, color, weight}) => write(chart, text, right + 8, y, color, 'left', weight));
    },
  };

  // Names beside points, as many as find room.
  const pointNames = {
    id: 'pointNames',
    afterDatasetsDraw(chart) {
      const {left, right, top, bottom} = chart.chartArea;
      const points = chart.data.datasets.flatMap((set, i) => set.named && chart.isDatasetVisible(i) ?
          chart.getDatasetMeta(i).data.map((point, j) => ({point, name: set.data[j].label || ''})) : []);
      const taken = points.map(({point}) => [point.x - 6, point.x + 6, point.y - 6, point.y + 6]);
      chart.ctx.save();
      chart.ctx.font = `12px ${Chart.defaults.font.family}`;
      points.forEach(({point, name}) => {
        const text = name.length > 24 ? name.slice(0, 23) + '…' : name;
        const width = chart.ctx.measureText(text).width;
        const {x, y} = point;
        for (const [a, middle] of [[x + 10, y], [x - 10 - width, y], [x - width / 2, y - 15],
                                   [x - width / 2, y + 15]]) {
          const box = [a - 2, a + width + 2, middle - 7, middle + 7];
          const inside = box[0] >= left && box[1] <= right && box[2] >= top && box[3] <= bottom;
          const free = taken.every(([l, r, t, b]) => box[1] < l || box[0] > r || box[3] < t || box[2] > b);
          if (!inside || !free) continue;
          taken.push(box);
          write(chart, text, a, middle, variable('soft'));
          break;
        }
      });
      chart.ctx.restore();
    },
  };

  // What a bar has gained, at its end.
  const barLabels = {
    id: 'barLabels',
    afterDatasetsDraw(chart) {
      chart.data.datasets.forEach((set, i) => {
        if (!set.barLabels || !chart.isDatasetVisible(i)) return;
        chart.getDatasetMeta(i).data.forEach((bar, j) => {
          const text = set.barLabels[j];
          if (text) write(chart, text, bar.x + 6, bar.y, variable('good'), 'left', '600');
        });
      });
    },
  };

  // The median in a bar that shows a range, and its number beside the bar.
  const rangeMarks = {
    id: 'rangeMarks',
    afterDatasetsDraw(chart) {
      const set = chart.data.datasets[0];
      if (!set || !set.medians) return;
      const {ctx, scales} = chart;
      chart.getDatasetMeta(0).data.forEach((bar, i) => {
        const x = scales.x.getPixelForValue(set.medians[i]);
        const half = bar.height / 2;
        ctx.save();
        ctx.fillStyle = variable('ink');
        ctx.fillRect(x - 1.5, bar.y - half - 3, 3, bar.height + 6);
        ctx.restore();
        const end = Math.max(scales.x.getPixelForValue(set.data[i][1]), x);
        const text = set.format(set.medians[i]);
        if (end + 40 < chart.width) write(chart, text, end + 8, bar.y, variable('ink'), 'left', '600');
        else write(chart, text, x - 8, bar.y, variable('ink'), 'right', '600');
      });
    },
  };
  const kPlugins = [endLabels, pointNames, barLabels, rangeMarks];

  const baseOptions = (spec) => ({
    responsive: true, maintainAspectRatio: false, animation: false,
    plugins: {legend: legend(spec), tooltip: {filter: (item) => !item.dataset.band}},
  });

  // A logarithmic axis would end at whole powers: it ends a little beyond the data instead.
  const fitted = (spec, name) => {
    const scale = spec[name];
    if (!scale.log) return scale;
    const at = name === 'x' ? 0 : 1;
    const values = spec.series.flatMap((series) => [
      ...series.points.map((point) => point[at]),
      ...(series.band && !series.quiet && at === 1 ? series.band.map((point) => point[2]) : []),
    ]).filter((value) => value > 0);
    if (!values.length) return scale;
    let low = Infinity, high = 0;
    values.forEach((value) => { low = Math.min(low, value); high = Math.max(high, value); });
    const margin = Math.max(1.1, (high / low) ** 0.04);
    return {min: low / margin, max: high * margin, ...scale};
  };

  const xyChart = (spec, canvas) => {
    const options = baseOptions(spec);
    // Names stand at the ends of lines where there is room for them, else in a legend.
    if (spec.direct && canvas.parentElement.clientWidth >= 420) {
      const context = canvas.getContext('2d');
      context.font = `600 12px ${Chart.defaults.font.family}`;
      const widths = spec.series.map((series) => context.measureText(series.name).width);
      options.layout = {padding: {right: Math.ceil(Math.max(...widths)) + 14, top: 4}};
      options.plugins.legend.display = false;
      options.plugins.endLabels = {shown: true};
    }
    options.scales = {x: axis(fitted(spec, 'x')), y: axis(fitted(spec, 'y'))};
    options.interaction = {mode: 'nearest', axis: 'xy', intersect: false};
    const formatX = formats[spec.x.format || 'number'], formatY = formats[spec.y.format || 'number'];
    options.plugins.tooltip.callbacks = {
      title: (items) => items.length ? items[0].raw.label || items[0].dataset.label : '',
      label: (item) => [
        item.raw.label ? item.dataset.label : null,
        `${spec.x.label}: ${formatX(item.raw.x)}`, `${spec.y.label}: ${formatY(item.raw.y)}`,
      ].filter((line) => line !== null),
    };
    return {
      type: 'line', data: {datasets: spec.series.flatMap(xyDatasets)}, options, plugins: kPlugins,
    };
  };

  // Of a long name the beginning: Chart.js gives names half of the width and shows their end.
  const nameOfCategory = function(value) {
    const name = this.getLabelForValue(value);
    const most = Math.min(26, Math.floor(this.chart.width / 18));
    return name.length > most ? name.slice(0, most - 1) + '…' : name;
  };

  const barChart = (spec) => {
    const options = baseOptions(spec);
    const format = formats[spec.value.format || 'number'];
    options.indexAxis = 'y';
    options.scales = {
      x: axis(spec.value, {
        stacked: !!spec.stacked, beginAtZero: true,
        grace: spec.series.some((series) => series.labels) ? '8%' : 0,
      }),
      y: {
        stacked: !!spec.stacked, grid: {display: false},
        ticks: {
          color: variable('ink'), autoSkip: false,
          callback: nameOfCategory,
        },
      },
    };
    Object.assign(options.plugins.legend.labels,
                  {usePointStyle: false, boxWidth: 14, boxHeight: 10});
    options.plugins.tooltip.callbacks = {
      label: (item) => `${item.dataset.label}: ${format(item.raw)}`,
    };
    const datasets = spec.series.map((series) => {
      const color = colorOf(series.color);
      return {
        label: series.name, data: series.values, backgroundColor: color, borderRadius: 2,
        maxBarThickness: 20, barPercentage: 0.92, categoryPercentage: 0.78, barLabels: series.labels,
      };
    });
    return {type: 'bar', data: {labels: spec.categories, datasets}, options, plugins: kPlugins};
  };

  // A bar from low to high for each category, with a mark at the median: [low, median, high or null].
  const rangeChart = (spec) => {
    const options = baseOptions({legend: false});
    const format = formats[spec.value.format || 'number'];
    const largest = Math.max(...spec.ranges.flatMap((range) => range.map((value) => value || 1)));
    options.indexAxis = 'y';
    options.layout = {padding: {right: spec.middle ? 58 : 44}};  // for the number beside the bar
    options.scales = {
      x: axis({min: 1, max: largest * 1.05, ...spec.value}),
      y: {
        grid: {display: false},
        ticks: {color: variable('ink'), autoSkip: false, callback: nameOfCategory},
      },
    };
    options.plugins.tooltip.callbacks = {
      label: ({dataIndex}) => {
        const [low, median, high] = spec.ranges[dataIndex];
        return `${spec.middle || 'median'} ${format(median)}; ${format(low)} to ${high === null ? 'never' : format(high)}`;
      },
    };
    const colors = spec.colors.map(colorOf);
    const dataset = {
      data: spec.ranges.map(([low, , high]) => [low, high === null ? largest * 1.05 : high]),
      medians: spec.ranges.map(([, median]) => median), format,
      backgroundColor: colors.map((color) => faded(color, 0.55)), borderColor: colors, borderWidth: 1,
      borderSkipped: false, borderRadius: 3, maxBarThickness: 16, minBarLength: 4,
    };
    return {type: 'bar', data: {labels: spec.categories, datasets: [dataset]}, options, plugins: kPlugins};
  };

  const draw = (spec) => {
    const canvas = document.getElementById(spec.id);
    const kinds = {bars: barChart, range: rangeChart, xy: xyChart};
    return new Chart(canvas, kinds[spec.kind](spec, canvas));
  };

  const drawAll = (theme) => {
    root.dataset.theme = theme;
    charts.forEach((chart) => chart.destroy());
    Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
    charts = data.charts.map(draw);
    document.body.dataset.charts = charts.length;
  };

  // ---- Light, dark and paper -------------------------------------------------------------------

  const theme = () => chosenTheme || (darkQuery.matches ? 'dark' : 'light');
  const themeButton = document.getElementById('theme');
  const applyTheme = () => {
    drawAll(theme());
    if (themeButton) themeButton.textContent = theme() === 'dark' ? 'Light' : 'Dark';
  };
  if (themeButton) {
    themeButton.addEventListener('click', () => {
      chosenTheme = theme() === 'dark' ? 'light' : 'dark';
      applyTheme();
    });
  }
  darkQuery.addEventListener('change', applyTheme);
  window.addEventListener('beforeprint', () => {
    document.querySelectorAll('details').forEach((element) => {
      element.dataset.wasOpen = element.open;
      element.open = true;
    });
    drawAll('light');
    charts.forEach((chart) => chart.resize());
  });
  window.addEventListener('afterprint', () => {
    document.querySelectorAll('details').forEach((element) => {
      element.open = element.dataset.wasOpen === 'true';
    });
    applyTheme();
  });

  // ---- Commands to copy ------------------------------------------------------------------------

  document.querySelectorAll('.command button').forEach((button) => {
    button.addEventListener('click', () => {
      const text = button.parentElement.querySelector('pre').textContent;
      const done = () => {
        button.textContent = 'Copied';
        setTimeout(() => { button.textContent = 'Copy'; }, 1500);
      };
      if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, () => {});
    });
  });

  // ---- The table of candidates: filtered and sorted here, a page of rows at a time ---------------

  const kPage = 20;
  const candidateTable = () => {
    const table = document.getElementById('candidates');
    if (!table || !data.candidates) return;
    const {columns, rows, kernels} = data.candidates;
    const search = document.getElementById('candidate-search');
    const fate = document.getElementById('candidate-fate');
    const position = document.getElementById('candidate-position');
    let page = 0, sortBy = 0, descending = false;

    const cellText = (row, column) => {
      const value = row[column];
      if (value === null || value === undefined) return '';
      const kind = columns[column].format;
      if (kind === 'kernel') return kernels[value];
      return kind ? formats[kind](value) : String(value);
    };
    const selected = () => {
      const wanted = search.value.toLowerCase();
      const kept = rows.filter((row) => {
        if (fate.value && row[3] !== fate.value) return false;
        return !wanted || columns.some((_, i) => cellText(row, i).toLowerCase().includes(wanted));
      });
      const less = (a, b) => {
        const x = a[sortBy], y = b[sortBy];
        const noX = x === null || x === undefined, noY = y === null || y === undefined;
        if (noX || noY) return noX - noY;
        const order = x < y ? -1 : x > y ? 1 : 0;
        return descending ? -order : order;
      };
      return kept.sort((a, b) => less(a, b) || a[0] - b[0]);
    };
    const show = () => {
      const kept = selected();
      page = Math.max(0, Math.min(page, Math.ceil(kept.length / kPage) - 1));
      const body = table.tBodies[0];
      body.replaceChildren();
      kept.slice(page * kPage, (page + 1) * kPage).forEach((row) => {
        const line = body.insertRow();
        columns.forEach((column, i) => {
          const cell = line.insertCell();
          cell.textContent = cellText(row, i);
          cell.className = column.class || '';
          if (column.class === 'fate') cell.className = 'fate-' + row[i];
        });
      });
      const last = Math.min(kept.length, (page + 1) * kPage);
      position.textContent = kept.length ?
          `${formats.count(page * kPage + 1)}–${formats.count(last)} of ${formats.count(kept.length)}` :
          'none';
      [...table.tHead.rows[0].cells].forEach((cell, i) => {
        if (i === sortBy) cell.setAttribute('aria-sort', descending ? 'descending' : 'ascending');
        else cell.removeAttribute('aria-sort');
      });
      document.getElementById('candidate-previous').disabled = page === 0;
      document.getElementById('candidate-next').disabled = last === kept.length;
    };

    const heading = table.tHead.insertRow();
    columns.forEach((column, i) => {
      const cell = document.createElement('th');
      cell.className = column.class === 'n' ? 'n' : '';
      const button = document.createElement('button');
      button.type = 'button';
      button.textContent = column.title;
      button.addEventListener('click', () => {
        descending = sortBy === i ? !descending : false;
        sortBy = i;
        page = 0;
        show();
      });
      cell.appendChild(button);
      heading.appendChild(cell);
    });
    const first = () => { page = 0; show(); };
    search.addEventListener('input', first);
    fate.addEventListener('change', first);
    document.getElementById('candidate-previous').addEventListener('click', () => { --page; show(); });
    document.getElementById('candidate-next').addEventListener('click', () => { ++page; show(); });
    show();
  };

  applyTheme();
  candidateTable();
})();
